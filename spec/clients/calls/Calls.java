/** What the programs in Java share. */
class Calls {
    private static boolean failed;

    interface Call {
        void make() throws Exception;
    }

    /** Prints what came of a call. */
    static void call(String name, Call call) {
        try {
            call.make();
            System.out.println("ok " + name);
        } catch (Exception error) {
            failed = true;
            System.out.println("FAIL " + name + ": " + error.toString().replace('\n', ' '));
        }
    }

    static void expect(Object got, Object wanted) {
        if (!wanted.equals(got)) throw new IllegalStateException("it is " + got + ", not " + wanted);
    }

    /** Ends the program, with 1 where a call has failed. */
    static void end() {
        System.exit(failed ? 1 : 0);
    }
}
