package span

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"
)

// Exporter sends encoded spans, OTLP's TracesData in protobuf, to whoever collects them. It deals with its failures
// itself. Only the tracer's goroutine calls it.
type Exporter interface {
	// Export sends a batch of n spans.
	Export(ctx context.Context, batch []byte, n int)
}

// Tracer begins spans and exports them in batches when they have ended. A queue that is full loses spans: an operation
// never waits for its collector.
type Tracer struct {
	settings Settings
	scope    scope
	to       Exporter

	queue   chan *Span
	closed  atomic.Bool
	stop    chan struct{}      // closed by Shutdown
	stopped chan struct{}      // closed when the goroutine has ended
	once    sync.Once          // closes stop
	cancel  context.CancelFunc // ends the export in progress
}

// scope is what all spans of a tracer share.
type scope struct {
	name, version string
	resource      []Attribute
}

// NewTracer begins a goroutine that exports spans until Shutdown. The name and the version are those of the
// instrumentation scope; the resource describes the process.
func NewTracer(settings Settings, to Exporter, name, version string, resource []Attribute) *Tracer {
	t := &Tracer{
		settings: settings, to: to, scope: scope{name: name, version: version, resource: resource},
		queue: make(chan *Span, settings.queue), stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	go t.run(ctx)
	return t
}

// Start begins a span under the one in ctx; its End is the caller's. Spans begun under the ctx that it returns are its
// children.
func (t *Tracer) Start(ctx context.Context, name string, kind Kind, attributes ...Attribute) (context.Context, *Span) {
	parent, _ := ContextOf(ctx)
	own := Context{traceID: parent.traceID, flags: parent.flags &^ sampledFlag, state: parent.state}
	random(own.spanID[:])
	if !parent.valid() {
		random(own.traceID[:])
	}
	if t.settings.sampler.samples(parent, own.traceID) {
		own.flags |= sampledFlag
	}
	span := &Span{context: own, parent: parent, tracer: t, name: name, kind: kind, began: time.Now()}
	span.Set(attributes...)
	return context.WithValue(ctx, spanKey{}, span), span
}

// random fills an id, which is never zero.
func random(id []byte) {
	_, _ = rand.Read(id) // which never fails
	id[len(id)-1] |= 1
}

func (t *Tracer) send(span *Span) {
	if t.closed.Load() {
		return
	}
	select {
	case t.queue <- span:
	default:
	}
}

// run exports a batch when it is full or the delay has passed, and what remains when the tracer stops.
func (t *Tracer) run(ctx context.Context) {
	defer close(t.stopped)
	timer := time.NewTimer(t.settings.delay)
	defer timer.Stop()
	var batch []*Span
	for {
		select {
		case span := <-t.queue:
			if batch = append(batch, span); len(batch) < t.settings.batch {
				continue
			}
		case <-timer.C:
		case <-t.stop:
			t.drain(ctx, batch)
			return
		}
		t.export(ctx, batch)
		batch = nil
		timer.Reset(t.settings.delay)
	}
}

// drain exports the last batch and what the queue holds.
func (t *Tracer) drain(ctx context.Context, batch []*Span) {
	for {
		select {
		case span := <-t.queue:
			if batch = append(batch, span); len(batch) == t.settings.batch {
				t.export(ctx, batch)
				batch = nil
			}
		default:
			t.export(ctx, batch)
			return
		}
	}
}

func (t *Tracer) export(ctx context.Context, batch []*Span) {
	if len(batch) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, t.settings.timeout)
	defer cancel()
	t.to.Export(ctx, encode(&t.scope, batch), len(batch))
}

// Shutdown exports the spans that have ended and ends the goroutine. It returns the error of ctx if that ends first:
// then the remaining spans are lost. Spans that end later are lost too.
func (t *Tracer) Shutdown(ctx context.Context) error {
	t.closed.Store(true)
	t.once.Do(func() { close(t.stop) })
	defer t.cancel()
	select {
	case <-t.stopped:
		return nil
	case <-ctx.Done():
		t.cancel()
		<-t.stopped
		return ctx.Err()
	}
}

// sampler decides which traces are recorded: a share of all that begin here, by their ids, and those whose parent is
// recorded.
type sampler struct {
	below       uint64 // of the ids' low 63 bits
	parentBased bool
}

const everyTrace = 1 << 63

func (s sampler) samples(parent Context, traceID [16]byte) bool {
	if s.parentBased && parent.valid() {
		return parent.sampled()
	}
	return binary.BigEndian.Uint64(traceID[8:])>>1 < s.below
}
