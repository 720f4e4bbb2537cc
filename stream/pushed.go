package stream

import (
	"sync"
	"time"

	"example.org/parley"
	"example.org/parley/live"
	"example.org/parley/runner"
)

// Beater sends heartbeats to a reader; see Writer.
type Beater interface{ Beat() error }

// Pushed is a stream that its source writes itself, such as a dry run or a replay. It begins with the first push; from
// then on heartbeats are sent in between.
type Pushed[W Beater] struct {
	open  func() W
	stop  func() // once
	beats sync.WaitGroup

	mu    sync.Mutex // guards w, which pushes and heartbeats write to, and begun
	w     W
	begun bool
}

// Push makes a stream; open makes its writer. The caller ends it.
func Push[W Beater](open func() W) *Pushed[W] {
	done := make(chan struct{})
	p := &Pushed[W]{open: open, stop: sync.OnceFunc(func() { close(done) })}
	p.beats.Go(func() { p.beat(done) }) // ends with End
	return p
}

// Write lets write send something to the reader.
func (p *Pushed[W]) Write(write func(W) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.begun {
		p.w, p.begun = p.open(), true
	}
	return write(p.w)
}

// End ends the heartbeats, and reports whether anything was written. It may be called again.
func (p *Pushed[W]) End() (w W, begun bool) {
	p.stop()
	p.beats.Wait()
	return p.w, p.begun
}

func (p *Pushed[W]) beat(done <-chan struct{}) {
	ticker := time.NewTicker(Heartbeat)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
		}
		p.mu.Lock()
		if p.begun {
			_ = p.w.Beat() // the next push will notice that the reader is gone
		}
		p.mu.Unlock()
	}
}

// DrySink passes the frames of a dry run to a function. Its events have no sequence, since no store has them. It serves
// one dry run.
type DrySink struct {
	write   func(frame *Frame) error
	objects objects
}

// NewDrySink makes a DrySink.
func NewDrySink(write func(frame *Frame) error) *DrySink { return &DrySink{write: write} }

// Event implements runner.DrySink.
func (d *DrySink) Event(event parley.Event) error {
	event.Sequence = 0
	return d.pass(&Frame{Kind: live.EventFrame, SessionID: event.SessionID, Event: event})
}

// Delta implements runner.DrySink.
func (d *DrySink) Delta(delta runner.DryDelta) error {
	return d.pass(&Frame{Kind: live.DeltaFrame, SessionID: delta.SessionID, Delta: live.Delta{
		SessionID: delta.SessionID, MessageID: delta.MessageID, Kind: delta.Kind,
		Offset: delta.Offset, End: delta.End, Text: delta.Text,
	}})
}

func (d *DrySink) pass(frame *Frame) error {
	if err := d.write(frame); err != nil {
		return err
	}
	if patch := d.objects.after(frame); patch != nil {
		return d.write(&Frame{Kind: live.PatchFrame, SessionID: frame.SessionID, Patch: patch})
	}
	return nil
}
