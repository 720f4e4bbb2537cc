package confine

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a filter of system calls reads of a call, by offset. Words of 64 bits have their low half first on both
// architectures below.
const (
	callNumber  = 0
	callABI     = 4
	callPid     = 16 // the first argument of prlimit64, of which the kernel reads 32 bits
	callNew     = 32 // its third one, the new limit
	callNewHigh = 36

	x32Bit = 0x4000_0000 // marks calls of the x32 interface
)

// limitsStay keeps this process, and what it becomes and starts, from changing the limits of other processes. Signals
// end at the domain of a cage, but with prlimit64 a program could have the kernel end any process of its user, the
// server and keepers among them: by a limit of processor time that is used up. Reading limits and changing its own goes
// on as ever. On architectures that Parley is not released for it does nothing.
func limitsStay() error {
	var native, other, otherCall uint32
	switch runtime.GOARCH {
	case "amd64":
		native, other, otherCall = unix.AUDIT_ARCH_X86_64, unix.AUDIT_ARCH_I386, 340
	case "arm64":
		native, other, otherCall = unix.AUDIT_ARCH_AARCH64, unix.AUDIT_ARCH_ARM, 369
	default:
		return nil
	}
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		ends  = unix.BPF_RET | unix.BPF_K
	)
	// A jump skips as many instructions as Jt says if the words are equal, and else as many as Jf says.
	filter := []unix.SockFilter{
		0:  {Code: load, K: callABI},
		1:  {Code: equal, K: native, Jf: 3}, // 2 or 5
		2:  {Code: load, K: callNumber},
		3:  {Code: equal, K: unix.SYS_PRLIMIT64, Jt: 4},                 // 8 or 4
		4:  {Code: equal, K: unix.SYS_PRLIMIT64 | x32Bit, Jt: 3, Jf: 9}, // 8 or 14
		5:  {Code: equal, K: other, Jf: 8},                              // 6 or 14
		6:  {Code: load, K: callNumber},
		7:  {Code: equal, K: otherCall, Jf: 6}, // 8 or 14
		8:  {Code: load, K: callPid},
		9:  {Code: equal, K: 0, Jt: 4}, // 14, as it is its own limit, or 10
		10: {Code: load, K: callNew},
		11: {Code: equal, K: 0, Jf: 3}, // 12 or 15
		12: {Code: load, K: callNewHigh},
		13: {Code: equal, K: 0, Jf: 1}, // 14 or 15
		14: {Code: ends, K: unix.SECCOMP_RET_ALLOW},
		15: {Code: ends, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
