// Package confine runs programs of others so that they do not reach some directories,
// whatever their own rights are. It is for programs that run as the server's user: the
// kernel's Landlock closes the directories to a process and to all that it starts, and from
// Linux 6.12 on they cannot signal other processes either. It does not hold root, who reads
// the disk below the files, nor a program that has another of the same user's work for it
// (a service manager that it asks by its socket, a start-up file that it writes).
//
// A confined program is started by this program itself: it is executed again with
// Argument first, confines itself, and becomes the other one. Its main function calls
// Main before anything else.
package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Argument is the first argument of a process that is to confine itself.
const Argument = "run-confined"

// end stands before the program and its arguments.
const end = "--"

// ErrUnsupported means that this system cannot confine anything.
var ErrUnsupported = errors.New("confine: this system has no Landlock")

// Command is how a program is started without access to what lies in directories, nor
// to the directories above them as lists: self with arguments.
func Command(self string, closed []string, program string, args []string) (path string, arguments []string) {
	arguments = append([]string{Argument}, closed...)
	arguments = append(arguments, end, program)
	return self, append(arguments, args...)
}

// Main confines this process and becomes the program, when it was started for that;
// else it returns at once.
func Main(args []string) {
	if len(args) < 2 || args[1] != Argument {
		return
	}
	fmt.Fprintln(os.Stderr, "confine:", become(args[2:]))
	os.Exit(126) //nolint:revive // this process is not the server; it was to become another program
}

// become does not return when it succeeds.
func become(args []string) error {
	at := slices.Index(args, end)
	if at < 0 || at+1 >= len(args) {
		return errors.New("no program is named")
	}
	return enter(args[:at], args[at+1:])
}

// open lists what stays open when directories are closed: of each directory above a
// closed one, all entries that do not lead to one.
func open(closed []string) ([]string, error) {
	var resolved []string
	for _, directory := range closed {
		at, err := filepath.EvalSymlinks(directory)
		if err != nil {
			return nil, err
		}
		if at == "/" {
			return nil, errors.New("all of the file system cannot be closed")
		}
		resolved = append(resolved, at)
	}
	return below("/", resolved)
}

// below lists what is open of a directory that holds closed ones.
func below(directory string, closed []string) (found []string, err error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		at := filepath.Join(directory, entry.Name())
		if slices.Contains(closed, at) || entry.Type()&os.ModeSymlink != 0 { // a link opens nothing by itself
			continue
		}
		holds := func(other string) bool { return strings.HasPrefix(other, at+"/") }
		if !slices.ContainsFunc(closed, holds) {
			found = append(found, at)
			continue
		}
		more, err := below(at, closed)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}
