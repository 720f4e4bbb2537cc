package program

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// asServer reports whether this process was started to be a server, and has been one.
var asServer = func() bool { return false }

func TestMain(m *testing.M) {
	Main(os.Args)
	if asServer() { // a test has started this binary
		return
	}
	goleak.VerifyTestMain(m)
}

// lines keeps what is logged.
type lines struct {
	mu   sync.Mutex // guards said
	said []string
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lines) WithGroup(string) slog.Handler            { return l }
func (l *lines) Handle(_ context.Context, record slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	record.Attrs(func(a slog.Attr) bool {
		l.said = append(l.said, a.Value.String())
		return true
	})
	return nil
}

// FuzzStderr: whatever a program says on standard error, so much of it is logged at most,
// line by line, and no secret.
func FuzzStderr(f *testing.F) {
	f.Add([]byte("hello\nthe key is hush-hush\n"))
	f.Add(bytes.Repeat([]byte("x"), 2*maxLogLine))
	f.Add(bytes.Repeat([]byte("x\n"), 2*logLineBurst))
	f.Add([]byte("\x00\xff\r\n\n \n\x1b[2J"))
	f.Fuzz(func(t *testing.T, said []byte) {
		kept := &lines{}
		p := &Process{command: Command{
			Log: slog.New(kept), Says: "it says",
			Redact: func(line string) string { return strings.ReplaceAll(line, "hush-hush", "[secret]") },
		}}
		p.listen(bytes.NewReader(said))
		// While this runs some more may be allowed: there are fewer lines than that.
		if most := logLineBurst + len(said)/2 + 1; len(kept.said) > most {
			t.Errorf("%d lines were logged", len(kept.said))
		}
		for _, line := range append(kept.said, p.Why(io.EOF).Error()) {
			if len(line) > maxLogLine+256 || strings.Contains(line, "hush-hush") {
				t.Errorf("logged: %q", line)
			}
		}
	})
}

// TestTheCauseIsSaid: of what a program said last, the line that names an error, wherever it stands.
func TestTheCauseIsSaid(t *testing.T) {
	t.Parallel()
	trace := "Error: Cannot find module 'index.js'\n" +
		strings.Repeat(
			"    at Module._load (node:internal/errors:1)\n",
			6,
		) + "  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20.20.2\n"
	for stderr, want := range map[string]string{
		"":                        "the end",
		"ready\nbye\n":            "the end; it said: bye",
		"throw err;\n^\n" + trace: "the end; it said: Error: Cannot find module 'index.js'",
		"Traceback\n  in main\nModuleNotFoundError: x\n":     "the end; it said: ModuleNotFoundError: x",
		"Error: long ago\n" + strings.Repeat("fine\n", 100):  "the end; it said: fine",
		"panic: " + strings.Repeat("x", 1000) + "\nexit 2\n": "the end; it said: panic: " + strings.Repeat("x", 249),
	} {
		p := &Process{command: Command{Log: slog.New(slog.DiscardHandler), Says: "it says"}}
		p.listen(strings.NewReader(stderr))
		if got := p.Why(errors.New("the end")).Error(); !strings.HasPrefix(got, want) || len(got) > len(want)+5 {
			t.Errorf("%.40q: %q, want %q", stderr, got, want)
		}
	}
}

// TestAFloodOnStderr is logged for its first lines alone.
func TestAFloodOnStderr(t *testing.T) {
	t.Parallel()
	kept := &lines{}
	p := &Process{command: Command{Log: slog.New(kept), Says: "it says"}}
	flood := bytes.Repeat([]byte("more\n"), 1_000_000)
	began := time.Now()
	p.listen(bytes.NewReader(flood))
	if most := logLineBurst + int(time.Since(began).Seconds()+1)*logLineRate; len(kept.said) > most {
		t.Errorf("%d lines were logged, at most %d may be", len(kept.said), most)
	}
}
