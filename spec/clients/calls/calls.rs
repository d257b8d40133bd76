// What the programs in Rust share.
use std::error::Error;

pub type Outcome = Result<(), Box<dyn Error>>;

/// The calls of a program so far.
#[derive(Default)]
pub struct Calls {
    failed: bool,
}

impl Calls {
    /// Prints what came of a call.
    pub fn end(&mut self, name: &str, outcome: Outcome) {
        match outcome {
            Ok(()) => println!("ok {name}"),
            Err(error) => {
                self.failed = true;
                // A backtrace may be part of it.
                let reason: String = format!("{error:?}").replace('\n', " ").chars().take(400).collect();
                println!("FAIL {name}: {reason}");
            }
        }
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        if self.failed {
            std::process::exit(1);
        }
    }
}

pub fn expect<T: PartialEq + std::fmt::Debug>(got: T, wanted: T) -> Outcome {
    if got == wanted {
        return Ok(());
    }
    Err(format!("it is {got:?}, not {wanted:?}").into())
}

pub fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}
