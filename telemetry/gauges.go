package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"parley"
)

const (
	lookTime   = 2 * time.Second // for what a scrape asks the database
	lookMemory = time.Second     // how long the answer is used
)

// Sources are what a scrape reads. Those that are nil are left out.
type Sources struct {
	Queue    func(context.Context) (parley.QueueStats, error)
	Ready    func(context.Context) error
	Worker   func() parley.WorkerStats
	Streams  func() parley.StreamStats
	Database func() parley.DatabaseStats
	Relay    func() parley.RelayStats
}

// gauges reads the sources when it is collected.
type gauges struct {
	sources Sources
	rows    []gauge

	mu     sync.Mutex // guards the rest, and is held while the database is asked
	asked  time.Time
	queue  parley.QueueStats
	known  bool // queue was read
	ready  bool
	broken float64 // looks at the queue that failed
}

// gauge is one metric of a scrape.
type gauge struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(s *scrape) []sample
}

// sample is one value of a gauge.
type sample struct {
	value  float64
	labels []string
}

// scrape is what the sources said, once per scrape; nil parts were not there.
type scrape struct {
	queue   *parley.QueueStats
	ready   *bool
	broken  float64
	worker  *parley.WorkerStats
	streams *parley.StreamStats
	writer  *parley.WriterStats
	pool    *parley.PoolStats
	relay   *parley.RelayStats
}

func newGauges() *gauges { return &gauges{rows: gaugeRows()} }

// Describe implements prometheus.Collector.
func (g *gauges) Describe(to chan<- *prometheus.Desc) {
	for i := range g.rows {
		to <- g.rows[i].desc
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(to chan<- prometheus.Metric) {
	s := g.look()
	for i := range g.rows {
		row := &g.rows[i]
		for _, sample := range row.read(s) {
			to <- prometheus.MustNewConstMetric(row.desc, row.kind, sample.value, sample.labels...)
		}
	}
}

// look asks every source that there is.
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
		s.writer, s.pool = stats.Writer, stats.Pool
	}
	return s
}

// askDatabase looks at the queue and at readiness, at most once per lookMemory.
func (g *gauges) askDatabase(s *scrape) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if time.Since(g.asked) >= lookMemory {
		ctx, stop := context.WithTimeout(context.Background(), lookTime)
		defer stop()
		if g.sources.Ready != nil {
			g.ready = g.sources.Ready(ctx) == nil
		}
		if g.sources.Queue != nil {
			var err error
			g.queue, err = g.sources.Queue(ctx)
			if g.known = err == nil; !g.known {
				g.broken++
			}
		}
		g.asked = time.Now()
	}
	s.broken = g.broken
	if g.sources.Ready != nil {
		s.ready = new(g.ready)
	}
	if g.known {
		s.queue = new(g.queue)
	}
}
