package confine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What Landlock governs, by the version of its interface that knew it first.
const (
	filesOfV1 = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	filesOfV2 = unix.LANDLOCK_ACCESS_FS_REFER
	filesOfV3 = unix.LANDLOCK_ACCESS_FS_TRUNCATE

	// leastVersion governs truncation: without it a closed file could still be emptied.
	leastVersion = 3
	// scopeVersion knows scopes: to which processes signals and abstract sockets lead.
	scopeVersion = 6

	// ofFiles are the rights that a rule about a single file may have.
	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE

	versionFlag = 1 // LANDLOCK_CREATE_RULESET_VERSION
)

// version is that of the kernel's interface; 0 without one.
func version() uintptr {
	version, _, failed := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, versionFlag)
	if failed != 0 {
		return 0
	}
	return version
}

// Supported reports whether this system can confine programs.
func Supported() bool { return version() >= leastVersion }

// SignalsSupported reports whether a confined program is kept from ending others than those that it has
// started.
func SignalsSupported() bool { return version() >= scopeVersion }

// enter puts this process into a cage, and becomes the program.
func enter(cage Cage, command []string) error {
	if len(cage.Closed) > 0 && !Supported() {
		return ErrUnsupported
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the thread that is confined is the one that becomes the program
	if err := bound(); err != nil {
		return fmt.Errorf("not bounded: %w", err)
	}
	if cage.User != nil {
		if err := apart(); err != nil {
			return fmt.Errorf("not apart: %w", err)
		}
		if err := limitsStay(); err != nil && !errors.Is(err, unix.EACCES) { // as in apart
			return fmt.Errorf("limits of others stay open: %w", err)
		}
		if err := change(cage.User); err != nil {
			return fmt.Errorf("not another user: %w", err)
		}
	}
	if len(cage.Closed) > 0 {
		if err := restrict(cage.Closed); err != nil {
			return err
		}
		if err := limitsStay(); err != nil {
			return fmt.Errorf("limits of others stay open: %w", err)
		}
	}
	if err := CloseDescriptors(); err != nil {
		return fmt.Errorf("descriptors stay open: %w", err)
	}
	return syscall.Exec(path, command, os.Environ()) //nolint:gosec // an admin's own command
}

// mostScore has the kernel end this process before others, the server among them, when the machine's memory or the
// control group's is used up.
const mostScore = "1000"

// bound lowers the bounds of this process, which what it becomes and starts inherits.
func bound() error {
	for resource, most := range map[int]uint64{
		unix.RLIMIT_NPROC: MaxTasks, unix.RLIMIT_NOFILE: MaxOpenFiles, unix.RLIMIT_FSIZE: MaxFileBytes,
		unix.RLIMIT_CORE: 0,
	} {
		var limit syscall.Rlimit
		if err := syscall.Getrlimit(resource, &limit); err != nil {
			return err
		}
		if resource == unix.RLIMIT_NPROC {
			most = min(most, limit.Cur/2)
		}
		limit.Cur, limit.Max = min(limit.Cur, most), min(limit.Max, most)
		if err := syscall.Setrlimit(resource, &limit); err != nil {
			return err
		}
	}
	// Whoever may not write here has no say in it, and needs none: the other bounds hold.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte(mostScore), 0)
	return nil
}

// change makes this process another user's, for good. It stays in its directory only
// where that user may enter it.
func change(user *User) error {
	directory, err := os.Getwd()
	if err != nil {
		return err
	}
	var dies int32 // the signal at its parent's end, which a change of the user forgets
	if err := unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&dies)), 0, 0, 0); err != nil {
		return err
	}
	parent := os.Getppid()
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(int(user.GID)); err != nil {
		return err
	}
	if err := syscall.Setuid(int(user.UID)); err != nil {
		return err
	}
	if dies != 0 {
		if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(dies), 0, 0, 0); err != nil {
			return err
		}
		if os.Getppid() != parent {
			return errors.New("its parent has ended")
		}
	}
	return os.Chdir(directory)
}

// apart puts this process, which is root's, and all that it starts into a domain of their own, out of which no signal
// and no trace leads, where the kernel has such domains and root all of its rights. Programs with the right to change
// their user keep it.
func apart() error {
	if !SignalsSupported() {
		return nil
	}
	governs := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_SIGNAL}
	set, _, failed := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&governs)),
		unsafe.Offsetof(governs.Scoped)+unsafe.Sizeof(governs.Scoped), 0)
	if failed != 0 {
		return failed
	}
	defer func() { _ = unix.Close(int(set)) }() // nothing was written
	_, _, failed = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0)
	if failed != 0 && failed != unix.EPERM { // a root of a container may lack the right
		return failed
	}
	return nil
}

// Hide keeps other programs of this process's user from its memory, its environment and its open files: nobody but root
// may trace it. No memory is dumped when it dies.
func Hide() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// firstDescriptor is the first after standard input, output and error.
const firstDescriptor = 3

// CloseDescriptors has all descriptors but the standard ones end with this program when it becomes another one, also
// those that it was given itself.
func CloseDescriptors() error {
	err := unix.CloseRange(firstDescriptor, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) {
		return err
	}
	open, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	if err != nil {
		return err
	}
	for _, entry := range open {
		if descriptor, err := strconv.Atoi(entry.Name()); err == nil && descriptor >= firstDescriptor {
			unix.CloseOnExec(descriptor)
		}
	}
	return nil
}

func restrict(closed []string) error {
	paths, err := open(closed)
	if err != nil {
		return err
	}
	governs := unix.LandlockRulesetAttr{Handled_access_fs: filesOfV1 | filesOfV2 | filesOfV3}
	size := unsafe.Sizeof(governs.Handled_access_fs) // alone: what came later is not known to every kernel
	if SignalsSupported() {
		governs.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		size = unsafe.Offsetof(governs.Scoped) + unsafe.Sizeof(governs.Scoped)
	}
	set, _, failed := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&governs)), size, 0)
	if failed != 0 {
		return fmt.Errorf("no ruleset: %w", failed)
	}
	for _, path := range paths {
		if err := allow(int(set), path, governs.Handled_access_fs); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, failed := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); failed != 0 {
		return fmt.Errorf("not confined: %w", failed)
	}
	return unix.Close(int(set))
}

// allow leaves a file or a tree open. What is gone by now needs nothing, nor does
// what this process may not even look at.
func allow(set int, path string, rights uint64) error {
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(at) }() // nothing was written
	var is unix.Stat_t
	if err := unix.Fstat(at, &is); err != nil {
		return err
	}
	if is.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= ofFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(at)} //nolint:gosec // a descriptor
	if _, _, failed := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0); failed != 0 && failed != unix.EBADFD {
		return fmt.Errorf("%s: %w", path, failed)
	}
	return nil
}
