package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"

	"example.org/parley"
	"example.org/parley/client"
)

// frames are the frames of one turn.
type frames = iter.Seq2[client.Frame, error]

// turn prints a turn as it streams, and then the turns of what the person typed meanwhile.
func (c *chat) turn(ctx context.Context, begin func(context.Context) frames) error {
	err := c.showTurn(ctx, begin, math.MaxInt64)
	for c.spoke && (err == nil || errors.Is(err, errQuiet)) {
		session, asked := c.server.Session(ctx, c.session.ID)
		until := int64(math.MaxInt64)
		switch {
		case asked != nil:
			return asked
		case session.Status == parley.SessionWaiting && err != nil: // it still waits
			return err
		case session.TurnID.IsZero() && session.LastEvent <= c.seen:
			c.spoke = false
			return err
		case session.TurnID.IsZero(): // it has ended
			until = session.LastEvent
		}
		err = c.showTurn(
			ctx,
			func(ctx context.Context) frames {
				return c.server.WatchSession(ctx, c.session.ID, client.WatchSessionQuery{After: c.seen})
			},
			until,
		)
	}
	return err
}

// showTurn prints a stream until a turn ends or it has printed the event until. Ctrl-C cancels the turn, and reading
// continues until its end.
func (c *chat) showTurn(ctx context.Context, begin func(context.Context) frames, until int64) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	interrupts := c.interrupts
	if interrupts == nil {
		interrupts = make(chan os.Signal, 1)
		signal.Notify(interrupts, os.Interrupt)
		defer signal.Stop(interrupts)
	}
	interrupted, twice, heard := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer func() { // before the next turn listens
		stop()
		<-heard
		select {
		case <-twice:
			c.left = true
		default:
		}
	}()
	go func() { // ends with the turn, by stop
		defer close(heard)
		c.cancelOn(ctx, interrupts, interrupted, func() {
			close(twice)
			stop()
		})
	}()

	view := newTurnView(c)
	view.interrupted, view.asking = interrupted, c.owed
	c.owed = asking{}
	if over, err := view.askAll(ctx, parley.WaitApproval); over || err != nil {
		return errors.Join(err, errQuiet)
	}
	defer view.endLine() // of an answer that broke off
	return c.read(ctx, view, begin(ctx), until)
}

// cancelOn cancels the turn on the first Ctrl-C, and leaves it on the second.
func (c *chat) cancelOn(ctx context.Context, interrupts <-chan os.Signal, first chan<- struct{}, leave func()) {
	select {
	case <-ctx.Done():
		return
	case <-interrupts:
	}
	close(first)
	if c.interrupts != nil && !c.json {
		fmt.Fprintln(c.term.err, "\n(cancelling; Ctrl-C again leaves)")
	}
	asked := make(chan struct{})
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		<-asked
	}()
	go func() { // ends with its request, which stop ends
		defer close(asked)
		if _, err := c.server.CancelTurn(ctx, c.session.ID, client.CancelInput{}); err != nil && ctx.Err() == nil {
			fmt.Fprintln(c.term.err, "\nparley: the turn could not be cancelled:", err)
		}
	}()
	select {
	case <-ctx.Done():
	case <-interrupts:
		leave()
	}
}

// read shows the frames of a stream, and posts lines that are typed meanwhile. It ends with the turn, or with the error
// that broke the stream.
func (c *chat) read(ctx context.Context, view *turnView, stream frames, until int64) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	incoming := pump(ctx, stream)
	for {
		select {
		case next, ok := <-incoming:
			if ctx.Err() != nil { // told to end; the turn continues by itself
				return errQuiet
			}
			if !ok || next.err != nil {
				return next.err
			}
			c.seen, c.fresh = max(c.seen, next.frame.ID), false
			if over, err := view.show(ctx, next.frame); over || err != nil {
				return err
			}
			if c.seen >= until {
				return nil
			}
		case line, ok := <-c.typed:
			if !ok {
				c.typed = nil
				continue
			}
			if strings.TrimSpace(line) != "" {
				c.remember(line)
				c.interject(ctx, view, line)
			}
		}
	}
}

// received is a frame of a stream, or its error.
type received struct {
	frame client.Frame
	err   error
}

// pump reads a stream in its own goroutine, which ends with the stream or with ctx.
func pump(ctx context.Context, stream frames) <-chan received {
	out := make(chan received)
	go func() {
		defer close(out)
		for frame, err := range stream {
			select {
			case out <- received{frame, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// waysIn are the ways in which a line may enter a running turn; each is a command.
func waysIn() []parley.During {
	return []parley.During{parley.DuringSteer, parley.DuringQueue, parley.DuringInterrupt}
}

// spoken splits a line into its text and the way it should enter a running turn; "" if it does not say.
func spoken(line string) (during parley.During, text string) {
	word, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
	if ok {
		for _, how := range waysIn() {
			if strings.EqualFold(word, "/"+string(how)) {
				return how, strings.TrimSpace(rest)
			}
		}
	}
	if text, ok := strings.CutPrefix(line, "//"); ok {
		return "", "/" + text
	}
	return "", line
}

// interject posts a line typed while a turn runs, to steer it unless the line or --during says otherwise. It prints a
// refusal; the turn continues.
func (c *chat) interject(ctx context.Context, view *turnView, line string) {
	switch command, _ := commandIn(line); {
	case command == "":
	case command == "help":
		view.tell(wholeHelp())
		return
	case slices.Contains(waysIn(), parley.During(command)):
		view.tell("! /" + command + " needs a text after it")
		return
	default:
		view.tell("! a turn is still running; Ctrl-C stops it")
		return
	}
	during, text := spoken(line)
	switch {
	case during != "":
	case c.during != "":
		during = c.during
	default:
		during = parley.DuringSteer
	}
	input := client.UserMessage(text)
	input.Model, input.During = c.model, during
	if _, err := c.server.Post(ctx, c.session.ID, input); err != nil {
		view.tell("! " + err.Error())
		return
	}
	c.spoke = true
	view.tell(map[parley.During]string{
		parley.DuringSteer:     "(the agent is told at its next step)",
		parley.DuringQueue:     "(queued: next)",
		parley.DuringInterrupt: "(instead of what runs)",
	}[during])
}

// tell prints a remark on its own line.
func (v *turnView) tell(remark string) {
	if v.chat.json {
		return
	}
	v.endLine()
	fmt.Fprintln(v.chat.term.err, remark)
}
