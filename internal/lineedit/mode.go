package lineedit

import (
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(file *os.File) bool {
	_, err := unix.IoctlGetTermios(int(file.Fd()), readMode) //nolint:gosec // a file descriptor is a small number
	return err == nil
}

// setMode has a terminal hand over each key at once without showing it, and returns what gives it back as it was.
// Signals, and line ends in both directions, stay as they are.
func setMode(terminal *os.File) (restore func(), err error) {
	fd := int(terminal.Fd()) //nolint:gosec // a file descriptor is a small number
	before, err := unix.IoctlGetTermios(fd, readMode)
	if err != nil {
		return nil, err
	}
	mode := *before
	mode.Lflag &^= unix.ICANON | unix.ECHO | unix.IEXTEN
	mode.Iflag |= unix.ICRNL
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, writeMode, &mode); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, writeMode, before) }, nil // the terminal may be gone
}

// sizeOf returns the size of a terminal, 0 if it does not say.
func sizeOf(terminal *os.File) (width, height int) {
	size, err := unix.IoctlGetWinsize(int(terminal.Fd()), unix.TIOCGWINSZ) //nolint:gosec // as above
	if err != nil {
		return 0, 0
	}
	return int(size.Col), int(size.Row)
}

// followSignals draws anew in a terminal of another size, and sets the mode again when the program goes on after it was
// stopped. Close ends its goroutine.
func (e *Editor) followSignals(in *os.File) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, unix.SIGWINCH, unix.SIGCONT)
	go func() {
		for {
			select {
			case <-e.over:
				return
			case which := <-told:
				e.redraw(which, in)
			}
		}
	}()
	back := e.restore
	e.restore = func() {
		signal.Stop(told)
		_, _ = io.WriteString(e.options.Out, pasteOff)
		back()
	}
}

func (e *Editor) redraw(why os.Signal, in *os.File) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return
	}
	if why == unix.SIGCONT {
		_, _ = setMode(in)
		e.send(pasteOn)
		e.drawn = false // the shell has written below
		e.open = false
	}
	e.refresh()
}
