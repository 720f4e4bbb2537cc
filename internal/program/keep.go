package program

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"time"
)

// Argument is the first argument of a process that is to keep a program.
const Argument = "keep-program"

// order is what a keeper is told on its lifeline: in bytes, as no text need be UTF-8. Neither its arguments nor its
// environment show a program's secrets.
type order struct {
	Path        []byte
	Args        [][]byte
	Environment [][]byte
}

// Main keeps a program and ends this process with it, when it was started for that; else it returns at once. A
// program's main function calls it before anything else.
func Main(args []string) {
	if len(args) == 2 && args[1] == Argument {
		keep()
	}
}

// kept starts a keeper instead of the command: this program again. It returns the writing end of the keeper's
// lifeline. The keeper ends the program and all that came from it when the lifeline is closed.
func kept(self string, run *exec.Cmd) (lifeline *os.File, begin func() error, err error) {
	told, err := json.Marshal(order{Path: []byte(run.Path), Args: raw(run.Args), Environment: raw(run.Env)})
	if err != nil {
		return nil, nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	run.Path, run.Args, run.Env, run.ExtraFiles = self, []string{self, Argument}, []string{}, []*os.File{read}
	return write, func() error {
		err := run.Start()
		_ = read.Close() // the keeper's end
		if err != nil {
			return err
		}
		if err := write.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return err
		}
		_, err = write.Write(told)
		return err
	}, nil
}

// readOrder reads what kept has told.
func readOrder(from io.Reader) (path string, args, environment []string, err error) {
	var told order
	if err := json.NewDecoder(from).Decode(&told); err != nil {
		return "", nil, nil, err
	}
	if len(told.Path) == 0 || len(told.Args) == 0 {
		return "", nil, nil, errors.New("no program is named")
	}
	return string(told.Path), texts(told.Args), texts(told.Environment), nil
}

func raw(from []string) (into [][]byte) {
	for _, text := range from {
		into = append(into, []byte(text))
	}
	return into
}

func texts(from [][]byte) (into []string) {
	for _, text := range from {
		into = append(into, string(text))
	}
	return into
}
