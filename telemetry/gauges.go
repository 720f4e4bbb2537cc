package telemetry

import (
	"context"
	"sync"
	"time"

	"example.org/parley/internal/metric"
	"example.org/parley/observe"
	"example.org/parley/store"
)

const (
	lookTime   = 2 * time.Second // for a scrape's question to the database
	lookMemory = time.Second     // how long the answer is reused
)

// Sources are what a scrape reads. Nil sources are left out.
type Sources struct {
	Queue    func(context.Context) (store.QueueStats, error)
	Ready    func(context.Context) error
	Worker   func() observe.WorkerStats
	Streams  func() observe.StreamStats
	Database func() store.DatabaseStats
	Relay    func() store.RelayStats
}

// gauges reads the sources when collected.
type gauges struct {
	sources Sources
	rows    []gauge

	mu     sync.Mutex // guards the rest
	last   *look
	broken float64 // scrapes without an answer about the queue
}

// look is one question to the database. Its answer is ready when done is closed.
type look struct {
	asked time.Time
	done  chan struct{}
	queue store.QueueStats
	known bool // queue has been read
	ready bool
}

func (l *look) answered() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// gauge is one metric of a scrape.
type gauge struct {
	desc metric.Desc
	read func(s *scrape) []sample
}

// sample is one value of a gauge.
type sample struct {
	value  float64
	labels []string
}

// scrape holds the sources' answers, once per scrape; missing parts are nil.
type scrape struct {
	queue   *store.QueueStats
	ready   *bool
	broken  float64
	worker  *observe.WorkerStats
	streams *observe.StreamStats
	damaged bool
	writer  *store.WriterStats
	pool    *store.PoolStats
	relay   *store.RelayStats
}

func newGauges() *gauges { return &gauges{rows: gaugeRows()} }

// Describe implements metric.Collector.
func (g *gauges) Describe() []metric.Desc {
	descs := make([]metric.Desc, len(g.rows))
	for i := range g.rows {
		descs[i] = g.rows[i].desc
	}
	return descs
}

// Collect implements metric.Collector.
func (g *gauges) Collect() []metric.Family {
	s := g.look()
	families := make([]metric.Family, len(g.rows))
	for i := range g.rows {
		row := &g.rows[i]
		families[i].Desc = row.desc
		for _, sample := range row.read(s) {
			families[i].Samples = append(families[i].Samples, metric.Sample{Labels: sample.labels, Value: sample.value})
		}
	}
	return families
}

// look asks every available source.
func (g *gauges) look() *scrape {
	s := &scrape{}
	g.askDatabase(s)
	if g.sources.Worker != nil {
		s.worker = new(g.sources.Worker())
	}
	if g.sources.Streams != nil {
		s.streams = new(g.sources.Streams())
	}
	if g.sources.Relay != nil {
		s.relay = new(g.sources.Relay())
	}
	if g.sources.Database != nil {
		stats := g.sources.Database()
		s.damaged, s.writer, s.pool = stats.Damage != nil, stats.Writer, stats.Pool
	}
	return s
}

// askDatabase reads the queue and readiness, at most once per lookMemory and one look at a time. A hanging database
// delays the rest of a scrape by at most lookTime.
func (g *gauges) askDatabase(s *scrape) {
	g.mu.Lock()
	current := g.last
	if current == nil || current.answered() && time.Since(current.asked) >= lookMemory {
		current = &look{asked: time.Now(), done: make(chan struct{})}
		g.last = current
		go g.ask(current) // ends with the database's answer, or the store's Close
	}
	g.mu.Unlock()
	timer := time.NewTimer(lookTime)
	defer timer.Stop()
	answered := true
	select {
	case <-current.done:
	case <-timer.C:
		answered = false
	}
	if g.sources.Ready != nil {
		s.ready = new(answered && current.ready)
	}
	if answered && current.known {
		s.queue = &current.queue
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if s.queue == nil && g.sources.Queue != nil {
		g.broken++
	}
	s.broken = g.broken
}

// ask fills in a look.
func (g *gauges) ask(l *look) {
	defer close(l.done)
	ctx, stop := context.WithTimeout(context.Background(), lookTime)
	defer stop()
	if g.sources.Ready != nil {
		l.ready = g.sources.Ready(ctx) == nil
	}
	if g.sources.Queue != nil {
		var err error
		l.queue, err = g.sources.Queue(ctx)
		l.known = err == nil
	}
}
