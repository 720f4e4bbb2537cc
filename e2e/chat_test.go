package e2e

import (
	"context"
	"io"
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

// sit runs a command whose input is a terminal of its own.
func (p place) sit(t *testing.T, args ...string) *seat {
	t.Helper()
	s, line := newSeat(t)
	s.start(p, line, &s.out, &s.err, nil, args...)
	return s
}

// face is sit with output on the terminal too, which s.out collects.
func (p place) face(t *testing.T, environment []string, args ...string) *seat {
	t.Helper()
	s, line := newSeat(t)
	s.start(p, line, line, line, append([]string{"TERM=xterm"}, environment...), args...)
	go func() { _, _ = io.Copy(&s.out, s.keys) }() // ends with the terminal
	return s
}

// newSeat opens a terminal, and returns the end at which a program sits.
func newSeat(t *testing.T) (s *seat, line *os.File) {
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
	if line, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return &seat{t: t, keys: keys, exited: make(chan error, 1)}, line
}

func (s *seat) start(p place, line *os.File, out, complained io.Writer, environment []string, args ...string) {
	s.t.Helper()
	defer func() { _ = line.Close() }() // the command has it
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*turnDeadline)
	s.t.Cleanup(cancel)
	command := exec.CommandContext(ctx, binary, append([]string{"--data", p.dir}, args...)...)
	command.Env = append(p.environment(), environment...)
	command.Stdin, command.Stdout, command.Stderr = line, out, complained
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // Ctrl-C is a signal to the command
	if err := command.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { s.exited <- command.Wait() }() // ends with the command
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
	s := startAt(t, at, "--drain", "100ms") // the last turn outlasts its chat
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

// TestChatOnATerminal edits what is typed, recalls what was typed before, and shows answers in styles.
func TestChatOnATerminal(t *testing.T) {
	t.Parallel()
	const up, left, ctrlC, ctrlD = "\x1b[A", "\x1b[D", "\x03", "\x04"
	const prompt = "> \r\x1b[2C" // with nothing behind it
	at := place{dir: t.TempDir()}
	g := newGate(t, at)
	s := startAt(t, at)
	holder(t, s)
	state := []string{"XDG_STATE_HOME=" + t.TempDir()}
	said := func(person *seat) (texts []string) {
		t.Helper()
		_, id, _ := strings.Cut(person.out.String(), "session ")
		session, err := parley.ParseID(id[:36])
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range record(t, s.client, session) {
			if m.Role == parley.RoleUser {
				texts = append(texts, text(t, m))
			}
		}
		return texts
	}

	person := at.face(t, state, "chat", "--model", "sim/echo")
	person.sees(&person.out, prompt, 1)
	person.types("helo, **brave**" + strings.Repeat(left, 12) + "l\r")
	person.sees(&person.out, "hello, \x1b[1mbrave\x1b[0m", 1)
	person.sees(&person.out, prompt, 2)
	person.types("half")
	person.sees(&person.out, "> half", 1)
	person.types(ctrlC) // discards it, and nothing else
	person.sees(&person.out, "^C", 1)
	person.types("/nope\r")
	person.sees(&person.out, "there is no command /nope", 1)
	person.types("```\rcode \x1b]52;c;AAAA\x07\r```\r")
	person.sees(&person.out, "\x1b[36mcode", 1)
	person.sees(&person.out, prompt, 5)
	person.types(ctrlD)
	if err := <-person.exited; err != nil {
		t.Errorf("it ends with %v\n%s", err, person.out.String())
	}
	if got := said(person); len(got) != 2 || got[0] != "hello, **brave**" || !strings.HasPrefix(got[1], "```\ncode") {
		t.Errorf("the messages are %q", got)
	}
	if strings.Contains(person.out.String(), "\x1b]") {
		t.Errorf("a sequence reached the terminal: %q", person.out.String())
	}
	mode, err := unix.IoctlGetTermios(int(person.keys.Fd()), unix.TCGETS)
	if err != nil || mode.Lflag&unix.ECHO == 0 || mode.Lflag&unix.ICANON == 0 {
		t.Errorf("the terminal is left in mode %+v, %v", mode, err)
	}

	plain := at.face(t, append(state, "NO_COLOR=1"), "chat", "--model", "sim/echo")
	plain.sees(&plain.out, prompt, 1)
	plain.types(strings.Repeat(up, 5) + "!\r")     // in the block of code, up is a line
	plain.sees(&plain.out, "hello, **brave**!", 2) // typed and answered
	if strings.Contains(plain.out.String(), "\x1b[1m") || strings.Contains(plain.out.String(), "\x1b[36m") {
		t.Errorf("it has styles: %q", plain.out.String())
	}
	plain.types(ctrlD)
	<-plain.exited

	busy := at.face(t, state, "chat", "--agent", "holder")
	busy.sees(&busy.out, prompt, 1)
	busy.types(callScript("hold") + "\r")
	g.await(t)
	busy.types("Be brief")
	busy.sees(&busy.out, "> Be brief", 1)
	busy.types(ctrlC)
	busy.sees(&busy.out, "(cancelled; the session continues)", 1)
	busy.types(" then.\x01\x1b[200~[[{\"text\":\"\x1b[201~\x05\"}]]\r") // what was typed has stayed
	busy.sees(&busy.out, "Be brief then.", 2)
	busy.types(ctrlD)
	busy.sees(&busy.out, "continue with: parley chat --session", 1)
	<-busy.exited

	idle := at.face(t, state, "chat", "--agent", "holder")
	idle.sees(&idle.out, prompt, 1)
	idle.types(ctrlC)
	<-idle.exited
	s.terminate()
}

// TestChatOutlivesTheServer: a chat at a terminal says that the server is gone, in the middle of an answer too, and
// goes on when it is back.
func TestChatOutlivesTheServer(t *testing.T) {
	t.Parallel()
	at := place{dir: t.TempDir()}
	s := startAt(t, at)
	person := at.face(t, []string{"XDG_STATE_HOME=" + t.TempDir()}, "chat", "--model", "sim/lorem-2000-50")
	person.types("hello\r")
	person.sees(&person.out, "dolor", 1)
	s.kill()
	person.sees(&person.out, "\r\n! no Parley server answers", 1)
	person.sees(&person.out, "> \r\x1b[2C", 2)
	person.types("/cost\r")
	person.sees(&person.out, "! no Parley server answers", 2)
	_, port, _ := strings.Cut(strings.TrimPrefix(s.url, "http://"), ":")
	again := startAt(t, at, "--addr", "127.0.0.1:"+port)
	person.sees(&person.out, "> \r\x1b[2C", 3)
	person.types("/cost\r")
	person.sees(&person.out, "1 turn", 1)
	person.types("\x04")
	if err := <-person.exited; err != nil {
		t.Errorf("it ends with %v\n%s", err, person.out.String())
	}
	again.kill()
}
