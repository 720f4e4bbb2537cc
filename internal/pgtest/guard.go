package pgtest

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// logFile is the server's log, in its directory.
const logFile = "log"

// guarding is a shell script that runs a server until its standard input says so, or ends because the process at the
// other end died in any way; then it removes everything. $0 is the signal that ends the server, the rest its command
// line.
const guarding = `"$@" & server=$!
read -r _ || lost=1
kill -$0 $server
wait $server
[ -z "${lost-}" ] || rm -rf "$PWD"`

// guarded is a server that ends with stop, or with the process that started it.
type guarded struct {
	life    io.WriteCloser // the shell's standard input
	command *exec.Cmd
}

// guard starts a shell that runs guarding in its directory.
func guard(shell *exec.Cmd) (*guarded, error) {
	log, err := os.OpenFile(filepath.Join(shell.Dir, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	shell.Stdout, shell.Stderr = log, log
	life, err := shell.StdinPipe()
	if err == nil {
		err = shell.Start()
	}
	if err = errors.Join(err, log.Close()); err != nil {
		return nil, err
	}
	return &guarded{life: life, command: shell}, nil
}

// stop ends the server and waits for it; nil is a stopped server.
func (g *guarded) stop() error {
	if g == nil {
		return nil
	}
	_, err := io.WriteString(g.life, "stop\n")
	err = errors.Join(err, g.life.Close())
	var ended *exec.ExitError
	if waited := g.command.Wait(); waited != nil && !errors.As(waited, &ended) { // its status does not matter
		err = errors.Join(err, waited)
	}
	return err
}
