package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"example.org/parley/bench"
)

// clusterFigures measures several processes together: streams from any of them, turns that change hands, and the memory
// of watchers.
func clusterFigures(ctx context.Context, l *lab, out io.Writer) error {
	for _, figure := range []func(context.Context, *lab, io.Writer) error{elsewhereFigure, killFigure, drainFigure,
		fleetWatchersFigure} {
		if err := figure(ctx, l, out); err != nil {
			return err
		}
	}
	return nil
}

// stream is an incoming event stream.
type stream struct {
	conn net.Conn
	seen chan sight
}

// sight is a frame's type and the time at which its first line arrived.
type sight struct {
	event string
	at    time.Time
}

// open watches a session through a process. close ends the reading.
func (p *parleyRun) open(ctx context.Context, session string) (*stream, error) {
	conn, err := watchEvents(ctx, p.addr, session)
	if err != nil {
		return nil, err
	}
	s := &stream{conn: conn, seen: make(chan sight, 1<<16)}
	go func() {
		defer close(s.seen)
		lines := bufio.NewReader(conn)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if event, ok := strings.CutPrefix(strings.TrimSpace(line), "event: "); ok {
				s.seen <- sight{event, time.Now()}
			}
		}
	}()
	return s, nil
}

// next returns when the next frame of a type arrived.
func (s *stream) next(event string) (time.Time, error) {
	overdue := time.NewTimer(time.Minute)
	defer overdue.Stop()
	for {
		select {
		case got, ok := <-s.seen:
			if !ok {
				return time.Time{}, fmt.Errorf("a stream ended before %s", event)
			}
			if got.event == event {
				return got.at, nil
			}
		case <-overdue.C:
			return time.Time{}, fmt.Errorf("a stream brings no %s", event)
		}
	}
}

func (s *stream) close() error { return s.conn.Close() }

// post posts a message to a session, without waiting for its turn.
func (p *parleyRun) post(ctx context.Context, session string) error {
	return p.do(
		ctx,
		http.MethodPost,
		"/v1/sessions/"+session+"/messages",
		fmt.Sprintf(`{"content":{"text":%q}}`, prompt),
		nil,
	)
}

// elsewhereFigure measures the first token of a turn on one process, watched there and through another one.
func elsewhereFigure(ctx context.Context, l *lab, out io.Writer) error {
	f, err := l.fleet(ctx, 2)
	if err != nil {
		return err
	}
	if err := f[0].agent(
		ctx,
		"bench",
		"openai/"+bench.ModelName(20, 5*time.Millisecond),
		`{"kind":"single"}`,
	); err != nil {
		return err
	}
	session, err := f[0].session(ctx, "bench")
	if err != nil {
		return err
	}
	here, err := f[0].open(ctx, session)
	if err != nil {
		return err
	}
	there, err := f[1].open(ctx, session)
	if err != nil {
		return err
	}
	var late []time.Duration
	for round := range 60 * l.rounds {
		if err := f[0].post(ctx, session); err != nil {
			return err
		}
		var first [2]time.Time
		for i, s := range []*stream{here, there} {
			if first[i], err = s.next("step.generating"); err != nil {
				return err
			}
		}
		for _, s := range []*stream{here, there} {
			if _, err := s.next("session.completed"); err != nil {
				return err
			}
		}
		if round > 0 { // the first round announces its watchers' interest
			late = append(late, first[1].Sub(first[0]))
		}
	}
	fmt.Fprintf(
		out,
		"first token through another process than the turn's: %v later (bound 5 ms), %v at the 99th percentile\n",
		medianOf(late),
		late[len(late)*99/100],
	)
	return errors.Join(here.close(), there.close(), f.end())
}

// The turn that changes hands streams for longer than any wait.
const longTokens = 6000

// takenOver runs a long turn on the first of two processes, ends that process in the given way, and returns how long it
// took until the second one had the turn.
func (l *lab) takenOver(ctx context.Context, end func(*parleyRun) error, settings ...string) (time.Duration, error) {
	f, err := l.fleet(ctx, 2, settings...)
	if err != nil {
		return 0, err
	}
	if err := f[0].agent(
		ctx,
		"bench",
		"openai/"+bench.ModelName(longTokens, 5*time.Millisecond),
		`{"kind":"single"}`,
	); err != nil {
		return 0, err
	}
	session, err := f[0].session(ctx, "bench")
	if err != nil {
		return 0, err
	}
	watching, err := f[1].open(ctx, session)
	if err != nil {
		return 0, err
	}
	if err := f[0].post(ctx, session); err != nil {
		return 0, err
	}
	for _, event := range []string{"session.started", "step.generating"} {
		if _, err := watching.next(event); err != nil {
			return 0, err
		}
	}
	ended := time.Now()
	if err := end(f[0]); err != nil {
		return 0, err
	}
	again, err := watching.next("session.started")
	if err != nil {
		return 0, err
	}
	if err := f[1].do(ctx, http.MethodPost, "/v1/sessions/"+session+"/cancel", `{}`, nil); err != nil {
		return 0, err
	}
	return again.Sub(ended), errors.Join(watching.close(), f.end())
}

// killFigure measures from the end of a process to its turn's restart elsewhere.
func killFigure(ctx context.Context, l *lab, out io.Writer) error {
	var took []time.Duration
	for range l.rounds {
		t, err := l.takenOver(ctx, func(p *parleyRun) error { return p.Kill() })
		if err != nil {
			return err
		}
		took = append(took, t)
	}
	fmt.Fprintf(out, "hand-over after kill -9, lease 10 s: %v (bound 11 s)\n", medianOf(took).Round(time.Millisecond))
	return nil
}

// drainFigure measures the same from SIGTERM, without finishing turns first.
func drainFigure(ctx context.Context, l *lab, out io.Writer) error {
	var took []time.Duration
	for range l.rounds {
		t, err := l.takenOver(ctx, func(p *parleyRun) error { return p.Terminate() }, "PARLEY_DRAIN=0s")
		if err != nil {
			return err
		}
		took = append(took, t)
	}
	fmt.Fprintf(out, "hand-over after SIGTERM, drain 0 s: %v (bound 1 s)\n", medianOf(took).Round(time.Millisecond))
	return nil
}

// fleetWatchersFigure measures ten thousand idle watchers on three processes.
func fleetWatchersFigure(ctx context.Context, l *lab, out io.Writer) error {
	const watchers = 9999
	f, err := l.fleet(ctx, 3)
	if err != nil {
		return err
	}
	sessions := make([]string, 500)
	for i := range sessions {
		if sessions[i], err = f[0].session(ctx, "parley"); err != nil {
			return err
		}
	}
	before, err := f.memory()
	if err != nil {
		return err
	}
	conns := make([]net.Conn, watchers)
	for i := range conns {
		if conns[i], err = watchEvents(ctx, f[i%len(f)].addr, sessions[i%len(sessions)]); err != nil {
			return err
		}
	}
	after, err := f.memory()
	if err != nil {
		return err
	}
	fmt.Fprintf(
		out,
		"idle watcher, %d over three processes: %.1f KiB (bound 32 KiB)\n",
		watchers,
		float64(after-before)/watchers/1024,
	)
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			return err
		}
	}
	return f.end()
}

// memory returns the memory of all processes.
func (f fleet) memory() (sum int64, err error) {
	for _, server := range f {
		now, _, err := server.Memory()
		if err != nil {
			return 0, err
		}
		sum += now
	}
	return sum, nil
}
