// Package confine runs foreign programs so that they cannot reach certain directories or use up the machine. Landlock,
// in the kernel, closes the directories to a program that runs as the server's user, and to everything that it starts,
// whatever its permissions; on Linux 6.12 and later they cannot signal other processes either. That does not stop root,
// who can read the disk below the files, so a server that is root runs the program as another user. Nor does it stop a
// program that has others of the same user work for it (a service manager that it reaches by a socket, a start-up file
// that it writes). The kernel bounds the tasks and files of each program.
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
	"strconv"
	"strings"
)

// Argument is the first argument of a process that is to confine itself.
const Argument = "run-confined"

// end stands before the program and its arguments.
const end = "--"

// The bounds of a confined program and of everything that it starts. If this process has a lower bound, that stays.
const (
	// MaxTasks is how many processes and threads its user may have when it starts another one: RLIMIT_NPROC. It is at
	// most half of this process's own bound, because this process may run as the same user and must keep working.
	MaxTasks = 2048
	// MaxOpenFiles is how many files each of its processes may have open: RLIMIT_NOFILE.
	MaxOpenFiles = 65_536
	// MaxFileBytes is how long a file that it writes may become: RLIMIT_FSIZE.
	MaxFileBytes = 16 << 30
)

// ErrUnsupported means that this system cannot confine anything.
var ErrUnsupported = errors.New("confine: this system has no Landlock")

// Cage says how a program is confined. The zero Cage only bounds its resources.
type Cage struct {
	// User is the user that it runs as; only root may set it. Nil means this process's user. Where the kernel has
	// scopes and this process the right to them, programs of one such user cannot signal or trace those of another
	// cage.
	User *User
	// Closed are directories that Landlock closes to it; nor can it list the directories above them.
	Closed []string
}

// User is a user of the system without further groups.
type User struct{ UID, GID uint32 }

// Command returns how to start a program in a cage: self with these arguments.
func Command(self string, cage Cage, program string, args []string) (path string, arguments []string) {
	user := ""
	if cage.User != nil {
		user = fmt.Sprintf("%d:%d", cage.User.UID, cage.User.GID)
	}
	arguments = append([]string{Argument, user}, cage.Closed...)
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
	cage, command, err := split(args)
	if err != nil {
		return err
	}
	return enter(cage, command)
}

// split reads what Command has written behind Argument.
func split(args []string) (cage Cage, command []string, err error) {
	at := slices.Index(args, end)
	if at < 1 || at+1 >= len(args) {
		return cage, nil, errors.New("no program is named")
	}
	cage.Closed = args[1:at]
	if args[0] == "" {
		return cage, args[at+1:], nil
	}
	uid, gid, found := strings.Cut(args[0], ":")
	of, err := strconv.ParseUint(uid, 10, 32)
	group, failed := strconv.ParseUint(gid, 10, 32)
	if err != nil || failed != nil || !found {
		return cage, nil, errors.New("no user is named")
	}
	cage.User = &User{UID: uint32(of), GID: uint32(group)}
	return cage, args[at+1:], nil
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
