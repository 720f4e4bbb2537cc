package program

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"example.org/parley/internal/confine"
)

// keeps reports whether this system has keepers.
const keeps = true

const (
	lifeline = 3 // the descriptor of a keeper's lifeline

	// The pauses between two looks at what is left of a program.
	leastPause = time.Millisecond
	mostPause  = 50 * time.Millisecond
	// outOfReach is how many looks in a row may find only processes of other users, which a program with the right to
	// change its user has started, before they are left alone.
	outOfReach = 3
)

// keep is the whole life of a keeper. Whatever the program starts, and those start, has this process as its parent once
// its own parent is gone, in whatever group or session it is: the kernel sees to that. So all of it is found.
func keep() {
	runtime.LockOSThread() // the kernel ends the program with the thread that has started it
	k := &keeper{ended: make(chan unix.WaitStatus, 1), alone: make(chan struct{})}
	if err := k.start(); err != nil {
		fmt.Fprintln(os.Stderr, "cannot be started:", err)
		os.Exit(exitFailed)
	}
	go k.reap()
	left := make(chan bool, 1)
	go func() { // ends with this process
		n, _ := k.lifeline.Read(make([]byte, 1)) // an end is what it waits for
		left <- n > 0
	}()
	var with unix.WaitStatus
	select {
	case with = <-k.ended:
	case atOnce := <-left:
		with = k.leave(atOnce)
	}
	k.endAll()
	die(with)
}

// keeper keeps one program.
type keeper struct {
	lifeline *os.File
	program  int
	ended    chan unix.WaitStatus // what the program ended with
	alone    chan struct{}        // closed when nothing is left

	mu sync.Mutex // held while a child is ended, so that its number is not another's yet, and while one is reaped
}

// start starts the program, and lets go of all descriptors that are the program's.
func (k *keeper) start() error {
	if err := confine.CloseDescriptors(); err != nil {
		return err
	}
	k.lifeline = os.NewFile(lifeline, "lifeline")
	path, args, environment, err := readOrder(k.lifeline)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := confine.Hide(); err != nil {
		return err
	}
	// Its group is the program's. It outlives what asks the program to end, and does not have the program ignore it.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT)
	process, err := os.StartProcess(path, args, &os.ProcAttr{
		Env: environment, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return err
	}
	k.program = process.Pid
	nothing, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	for standard := range lifeline { // else they would not end with the program
		if err := unix.Dup3(int(nothing.Fd()), standard, 0); err != nil {
			return err
		}
	}
	return process.Release()
}

// reap takes the ends of all children until there is none.
func (k *keeper) reap() {
	defer close(k.alone)
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil { // no child is left
			return
		}
		k.mu.Lock()
		var with unix.WaitStatus
		pid, err := unix.Wait4(-1, &with, unix.WNOHANG, nil)
		if err == nil && pid == k.program {
			k.ended <- with // has room
		}
		k.mu.Unlock()
	}
}

// leave ends the program when nobody is left to speak with it. Without a server to say that it has waited, the program
// has some time to end by itself: its input has ended too.
func (k *keeper) leave(atOnce bool) unix.WaitStatus {
	if !atOnce {
		select {
		case with := <-k.ended:
			return with
		case <-time.After(leaveTime):
		}
	}
	k.mu.Lock()
	if len(k.ended) == 0 { // until then its number is its own
		_ = unix.Kill(k.program, unix.SIGKILL)
	}
	k.mu.Unlock()
	return <-k.ended
}

// endAll ends everything that came from the program. The children of what ends become this process's.
func (k *keeper) endAll() {
	pause, unreached := leastPause, 0
	for {
		if k.endChildren() == 0 {
			unreached++
		} else {
			unreached = 0
		}
		if unreached == outOfReach {
			return
		}
		select {
		case <-k.alone:
			return
		case <-time.After(pause):
			pause = min(2*pause, mostPause)
		}
	}
}

// endChildren ends this process's children, and returns how many.
func (k *keeper) endChildren() (ended int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	lists, _ := filepath.Glob("/proc/self/task/*/children") // the pattern is right
	for _, list := range lists {
		pids, err := os.ReadFile(list)
		if err != nil {
			continue // a thread that has ended
		}
		for pid := range strings.FieldsSeq(string(pids)) {
			if pid, err := strconv.Atoi(pid); err == nil && unix.Kill(pid, unix.SIGKILL) == nil {
				ended++
			}
		}
	}
	return ended
}

// die ends this process as the program has ended.
func die(with unix.WaitStatus) {
	if with.Exited() {
		os.Exit(with.ExitStatus())
	}
	// What the kernel does by itself on this signal, and not the runtime: struct sigaction of zeros is SIG_DFL.
	var usual [8]uint64
	number := with.Signal()
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(number), uintptr(unsafe.Pointer(&usual)), 0,
		unsafe.Sizeof(uint64(0)), 0, 0) // SIGKILL has no other
	_ = unix.Kill(os.Getpid(), number)
	time.Sleep(leaveTime) // until it has come
	os.Exit(exitFailed)
}
