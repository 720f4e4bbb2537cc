package bench

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel end a child when this process is gone, even if it was killed.
func dieWithParent(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
