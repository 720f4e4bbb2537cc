package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"example.org/parley/bench"
)

const mib = 1 << 20

// startFigures measures from the start of the process to the end of its first turn, and the memory of an idle process.
func startFigures(ctx context.Context, l *lab, out io.Writer) error {
	var took []time.Duration
	var idle []int64
	for range 2*l.rounds + 1 {
		began := time.Now()
		server, err := l.start(ctx)
		if err != nil {
			return err
		}
		target, err := server.turns(
			ctx,
			"parley",
			1,
		) // the built-in agent, and without a configured provider's model the simulator
		if err != nil {
			return err
		}
		if _, err := bench.Run(ctx, target, 1, 1); err != nil {
			return err
		}
		took = append(took, time.Since(began))
		now, _, err := server.Memory()
		if err != nil {
			return err
		}
		idle = append(idle, now)
		if err := server.end(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "start to first finished turn: %v (bound 60 ms)\n", medianOf(took).Round(time.Millisecond/10))
	fmt.Fprintf(out, "idle process: %.1f MB resident (bound 25 MB)\n", float64(medianOf(idle))/mib)
	return nil
}

// memoryFigures measures idle watchers, and many turns at once.
func memoryFigures(ctx context.Context, l *lab, out io.Writer) error {
	if err := watcherFigure(ctx, l, out); err != nil {
		return err
	}
	var highest []int64
	for range l.rounds {
		server, err := l.start(ctx)
		if err != nil {
			return err
		}
		if err := server.agent(
			ctx,
			"bench",
			"openai/"+bench.ModelName(200, 5*time.Millisecond),
			`{"kind":"single"}`,
		); err != nil {
			return err
		}
		target, err := server.turns(ctx, "bench", 512)
		if err != nil {
			return err
		}
		if _, err := bench.Run(ctx, target, 512, 1024); err != nil {
			return err
		}
		_, high, err := server.Memory()
		if err != nil {
			return err
		}
		highest = append(highest, high)
		if err := server.end(); err != nil {
			return err
		}
	}
	fmt.Fprintf(
		out,
		"512 turns at once: %.1f MB resident at the highest (bound 120 MB)\n",
		float64(medianOf(highest))/mib,
	)
	return nil
}

func watcherFigure(ctx context.Context, l *lab, out io.Writer) error {
	const watchers = 2000
	var each []int64
	for range l.rounds {
		server, err := l.start(ctx)
		if err != nil {
			return err
		}
		session, err := server.session(ctx, "parley")
		if err != nil {
			return err
		}
		before, _, err := server.Memory()
		if err != nil {
			return err
		}
		var conns []net.Conn
		for range watchers {
			conn, err := watchEvents(ctx, server.addr, session)
			if err != nil {
				return err
			}
			conns = append(conns, conn)
		}
		after, _, err := server.Memory()
		if err != nil {
			return err
		}
		each = append(each, (after-before)/watchers)
		for _, conn := range conns {
			if err := conn.Close(); err != nil {
				return err
			}
		}
		if err := server.end(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "idle watcher: %.1f KiB (bound 32 KiB)\n", float64(medianOf(each))/1024)
	return nil
}

// watchEvents opens a session's event stream.
func watchEvents(ctx context.Context, addr, session string) (net.Conn, error) {
	return watch(ctx, addr, bench.Get(addr, "/v1/sessions/"+session+"/events", "text/event-stream"))
}

// watch asks for a stream and waits for the answer's head.
func watch(ctx context.Context, addr string, request []byte) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(request); err != nil {
		return nil, err
	}
	buffer := make([]byte, 4096)
	n, err := conn.Read(buffer)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(buffer[:n], []byte("HTTP/1.1 200")) {
		return nil, errors.New(string(buffer[:n]))
	}
	return conn, nil
}
