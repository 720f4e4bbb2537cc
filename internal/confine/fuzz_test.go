package confine

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// FuzzArguments: a confined process reads the cage and the program that it was started
// with, whatever they are called, and runs nothing in a wider cage.
func FuzzArguments(f *testing.F) {
	f.Add(uint32(65534), true, "/data", "/opt/agent", "--stdio\x00--")
	f.Add(uint32(0), false, "/data\x00/other", "--", "")
	f.Add(uint32(1), true, "--", "sh", "-c\x00run-confined")
	f.Add(uint32(1), false, "", "", "")
	f.Fuzz(func(t *testing.T, id uint32, other bool, directories, program, arguments string) {
		cage, args := Cage{Closed: strings.Split(directories, "\x00")}, strings.Split(arguments, "\x00")
		if other {
			cage.User = &User{UID: id, GID: ^id}
		}
		_, written := Command("/self", cage, program, args)
		if written[0] != Argument {
			t.Fatalf("it begins with %q", written[0])
		}
		got, command, err := split(written[1:])
		if slices.Contains(cage.Closed, end) { // no directory has that name: all of them are absolute
			return
		}
		if err != nil || !reflect.DeepEqual(got, cage) || !slices.Equal(command, append([]string{program}, args...)) {
			t.Fatalf("%+v, %q, %q became %+v, %q, %v", cage, program, args, got, command, err)
		}
	})
}
