// Package calls has what the programs in Go share.
package calls

import (
	"fmt"
	"os"
	"reflect"
	"strings"
)

var failed bool

// Call prints what came of a call.
func Call(name string, do func() error) {
	if err := do(); err != nil {
		failed = true
		fmt.Printf("FAIL %s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
	} else {
		fmt.Printf("ok %s\n", name)
	}
}

// Expect fails where a client has read something else.
func Expect(got, wanted any) error {
	if reflect.DeepEqual(got, wanted) {
		return nil
	}
	return fmt.Errorf("it is %v, not %v", got, wanted)
}

// End ends the program, with 1 where a call has failed.
func End() {
	if failed {
		os.Exit(1)
	}
	os.Exit(0)
}
