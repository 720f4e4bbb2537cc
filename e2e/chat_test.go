package e2e

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.org/parley"
	"example.org/parley/client"
)

// seat is a terminal with a program and a scripted person.
type seat struct {
	t        *testing.T
	keys     *os.File // writes here are typed
	out, err lockedBuffer
	exited   chan error
}

// sit runs a command at a terminal of its own.
func (p place) sit(t *testing.T, args ...string) *seat {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	number, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = line.Close() }() // the command has it
	ctx, cancel := context.WithTimeout(t.Context(), 2*turnDeadline)
	t.Cleanup(cancel)
	s := &seat{t: t, keys: keys, exited: make(chan error, 1)}
	command := exec.CommandContext(ctx, binary, append([]string{"--data", p.dir}, args...)...)
	command.Env = p.environment()
	command.Stdin, command.Stdout, command.Stderr = line, &s.out, &s.err
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // Ctrl-C is a signal to the command
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.exited <- command.Wait() }() // ends with the command
	return s
}

func (s *seat) types(text string) {
	s.t.Helper()
	if _, err := s.keys.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// sees waits until a text was printed a number of times.
func (s *seat) sees(from *lockedBuffer, text string, times int) {
	s.t.Helper()
	look, deadline := time.NewTicker(time.Millisecond), time.After(turnDeadline)
	defer look.Stop()
	for strings.Count(from.String(), text) < times {
		select {
		case <-look.C:
		case <-deadline:
			s.t.Fatalf("%q was not printed %d times:\n%s\n%s", text, times, s.out.String(), s.err.String())
		}
	}
}

// holder makes the agent holder, whose turns wait in the tool hold.
func holder(t *testing.T, s *server) {
	t.Helper()
	if _, err := s.client.CreateAgent(
		t.Context(),
		client.AgentInput{
			Name:     "Holder",
			Settings: parley.Settings{Model: "sim/script", Tools: new(client.ToolNames("hold"))},
		},
	); err != nil {
		t.Fatal(err)
	}
}

// TestChatHearsLinesDuringATurn: a line typed while an answer streams takes effect
// immediately: as a steer, or as the line says.
func TestChatHearsLinesDuringATurn(t *testing.T) { onEach(t, chatHearsLinesDuringATurn) }

func chatHearsLinesDuringATurn(t *testing.T, at place) {
	g := newGate(t, at)
	s := startAt(t, at)
	holder(t, s)
	person := at.sit(t, "chat", "--agent", "holder")
	prompts := 0
	hold := func() { // a line before the prompt would join the previous turn
		t.Helper()
		prompts++
		person.sees(&person.err, "> ", prompts)
		person.types(callScript("hold") + "\n")
		g.await(t)
	}
	hold()
	person.types("/retry\nBe brief.\n")
	person.sees(&person.err, "a turn is still running", 1)
	person.sees(&person.err, "told at its next step", 1)
	g.release <- struct{}{}
	person.sees(&person.out, "Done.", 1)

	hold()
	person.types(`/queue [[{"text":"More."}]]` + "\n")
	person.sees(&person.err, "queued", 1)
	g.release <- struct{}{}
	person.sees(&person.out, "More.", 1)

	hold()
	person.types(`/interrupt [[{"text":"Instead."}]]` + "\n")
	person.sees(&person.out, "Instead.", 1)
	person.sees(&person.err, "> ", 4)
	person.types("\x04") // end of input
	if err := <-person.exited; err != nil {
		t.Errorf("it ends with %v\n%s", err, person.err.String())
	}
	_, id, _ := strings.Cut(person.err.String(), "session ")
	session, err := parley.ParseID(id[:36])
	if err != nil {
		t.Fatal(err)
	}
	turns, err := s.client.Turns(t.Context(), session, client.TurnsQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var ended []string
	for _, turn := range slices.Backward(turns.Data) {
		ended = append(ended, string(turn.Status))
	}
	if got := strings.Join(
		ended,
		" ",
	); got != "completed completed completed cancelled completed" ||
		strings.Count(person.out.String(), "Done.") != 2 {
		t.Errorf("the turns are %s, and it printed\n%s", got, person.out.String())
	}
	first := turns.Data[len(turns.Data)-1].ID
	for _, m := range record(t, s.client, session) {
		if m.Role == parley.RoleUser && text(t, m) == "Be brief." && m.TurnID != first {
			t.Errorf("the steer ran in turn %s of %s", m.TurnID, first)
		}
	}
	s.terminate()
}

// TestCtrlCCancelsTheAnswerAndStays: the chat continues after it. A second Ctrl-C, or one at the prompt, leaves the
// chat, which says how to come back.
func TestCtrlCCancelsTheAnswerAndStays(t *testing.T) { onEach(t, ctrlCCancelsTheAnswerAndStays) }

func ctrlCCancelsTheAnswerAndStays(t *testing.T, at place) {
	const ctrlC, back = "\x03", "continue with: parley chat --session"
	g := newGate(t, at)
	s := startAt(t, at)
	holder(t, s)
	left := func(person *seat) {
		t.Helper()
		person.sees(&person.err, back, 1)
		if err := <-person.exited; err != nil {
			t.Errorf("it ends with %v\n%s", err, person.err.String())
		}
	}
	person := at.sit(t, "chat", "--agent", "holder")
	for n := 1; n <= 2; n++ { // it stays both times
		person.sees(&person.err, "> ", n)
		person.types(callScript("hold") + "\n")
		g.await(t)
		person.types(ctrlC)
		person.sees(&person.err, "(cancelled; the session continues)", n)
	}
	person.sees(&person.err, "> ", 3)
	person.types(`[[{"text":"Still here."}]]` + "\n")
	person.sees(&person.out, "Still here.", 1)
	person.sees(&person.err, "> ", 4)
	person.types(ctrlC)
	left(person)

	person = at.sit(t, "chat", "--agent", "holder")
	person.sees(&person.err, "> ", 1)
	person.types(callScript("hold") + "\n")
	g.await(t)
	person.types(ctrlC)
	person.sees(&person.err, "Ctrl-C again leaves", 1)
	person.types(ctrlC)
	left(person)
	s.terminate()
}
