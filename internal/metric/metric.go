package metric

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
)

// Kind is a type of metric, as the text format names it.
type Kind string

// The kinds.
const (
	KindCounter   Kind = "counter"
	KindGauge     Kind = "gauge"
	KindHistogram Kind = "histogram"
	KindSummary   Kind = "summary"
)

// Desc describes a metric. Names of metrics and labels are constants of the program: nobody checks them.
type Desc struct {
	Name, Help string
	Kind       Kind
	Labels     []string // the names; each sample has a value for every one
}

// Sample is one value of a metric.
type Sample struct {
	Suffix string   // _bucket, _sum or _count; "" for the metric itself
	Labels []string // the values of Desc.Labels; any text
	Bound  string   // of a histogram's bucket (le) or a summary's quantile; "" without
	Value  float64
}

// Family is a metric with its samples. A family without samples is not written.
type Family struct {
	Desc

	Samples []Sample
}

// Collector holds metrics. Collect is called by every scrape, by several at once.
type Collector interface {
	Describe() []Desc
	Collect() []Family
}

// float is a number that many goroutines change.
type float struct{ bits atomic.Uint64 }

func (f *float) load() float64   { return math.Float64frombits(f.bits.Load()) }
func (f *float) store(v float64) { f.bits.Store(math.Float64bits(v)) }

func (f *float) add(v float64) {
	for {
		old := f.bits.Load()
		if f.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

// Counter only grows. It is safe for concurrent use, as everything here.
type Counter struct{ value float }

// Inc adds one.
func (c *Counter) Inc() { c.value.add(1) }

// Add adds v; less than 0 is a mistake in the program and panics.
func (c *Counter) Add(v float64) {
	if v < 0 {
		panic("a counter cannot decrease")
	}
	c.value.add(v)
}

func (c *Counter) samples(labels []string) []Sample {
	return []Sample{{Labels: labels, Value: c.value.load()}}
}

// Gauge goes up and down.
type Gauge struct{ value float }

// Set sets the value.
func (g *Gauge) Set(v float64) { g.value.store(v) }

// Add adds v, which may be less than 0.
func (g *Gauge) Add(v float64) { g.value.add(v) }

// Inc adds one.
func (g *Gauge) Inc() { g.value.add(1) }

// Dec subtracts one.
func (g *Gauge) Dec() { g.value.add(-1) }

func (g *Gauge) samples(labels []string) []Sample {
	return []Sample{{Labels: labels, Value: g.value.load()}}
}

// Histogram counts observations by size.
type Histogram struct {
	bounds []float64 // inclusive upper bounds, ascending

	mu     sync.Mutex // guards the rest, so that a scrape sees a sum and counts of the same observations
	counts []uint64   // per bound, and one for what exceeds them all
	sum    float64
}

// Observe counts one observation.
func (h *Histogram) Observe(v float64) {
	i, _ := slices.BinarySearch(h.bounds, v)
	h.mu.Lock()
	h.counts[i]++
	h.sum += v
	h.mu.Unlock()
}

func (h *Histogram) samples(labels []string) []Sample {
	h.mu.Lock()
	counts, sum := slices.Clone(h.counts), h.sum
	h.mu.Unlock()
	samples := make([]Sample, 0, len(counts)+2)
	total := uint64(0)
	for i, n := range counts {
		total += n
		bound := math.Inf(1)
		if i < len(h.bounds) {
			bound = h.bounds[i]
		}
		samples = append(
			samples,
			Sample{Suffix: "_bucket", Labels: labels, Bound: string(appendFloat(nil, bound)), Value: float64(total)},
		)
	}
	return append(
		samples,
		Sample{Suffix: "_sum", Labels: labels, Value: sum},
		Sample{Suffix: "_count", Labels: labels, Value: float64(total)},
	)
}

// series is what a vector has one of for each combination of labels' values.
type series interface {
	*Counter | *Gauge | *Histogram
	samples(labels []string) []Sample
}

// Vec is a metric with labels. A series exists from its first With on and is never removed, so whoever chooses labels
// must bound their values.
type Vec[S series] struct {
	desc Desc
	make func() S

	mu     sync.RWMutex // guards the map
	series map[string]labelled[S]
}

type labelled[S series] struct {
	labels []string
	series S
}

func newVec[S series](desc Desc, of func() S) *Vec[S] {
	v := &Vec[S]{desc: desc, make: of, series: map[string]labelled[S]{}}
	if len(desc.Labels) == 0 {
		v.With() // the only series, shown from the start
	}
	return v
}

// NewCounters returns counters, one for each combination of the labels' values.
func NewCounters(name, help string, labels ...string) *Vec[*Counter] {
	return newVec(Desc{name, help, KindCounter, labels}, func() *Counter { return &Counter{} })
}

// NewGauges returns gauges, one for each combination of the labels' values.
func NewGauges(name, help string, labels ...string) *Vec[*Gauge] {
	return newVec(Desc{name, help, KindGauge, labels}, func() *Gauge { return &Gauge{} })
}

// NewHistograms returns histograms, one for each combination of the labels' values. bounds are the inclusive upper
// bounds of the buckets, ascending; a last bucket without a bound is added.
func NewHistograms(name, help string, bounds []float64, labels ...string) *Vec[*Histogram] {
	return newVec(
		Desc{name, help, KindHistogram, labels},
		func() *Histogram { return &Histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)} },
	)
}

// With returns the series with these values of the labels, which it creates at 0. The wrong number of values is a
// mistake in the program and panics.
func (v *Vec[S]) With(labels ...string) S {
	if len(labels) != len(v.desc.Labels) {
		panic(fmt.Sprintf("%s has %d labels, not %d", v.desc.Name, len(v.desc.Labels), len(labels)))
	}
	var room [256]byte // most keys fit, and then a series that exists is found without an allocation
	key := room[:0]
	for _, label := range labels {
		key = append(append(key, label...), 0xff) // in no UTF-8 text
	}
	v.mu.RLock()
	found, ok := v.series[string(key)]
	v.mu.RUnlock()
	if ok {
		return found.series
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if found, ok = v.series[string(key)]; !ok {
		found = labelled[S]{labels: slices.Clone(labels), series: v.make()}
		v.series[string(key)] = found
	}
	return found.series
}

// Describe implements Collector.
func (v *Vec[S]) Describe() []Desc { return []Desc{v.desc} }

// Collect implements Collector: the series sorted by their labels.
func (v *Vec[S]) Collect() []Family {
	v.mu.RLock()
	all := make([]labelled[S], 0, len(v.series))
	for _, one := range v.series {
		all = append(all, one)
	}
	v.mu.RUnlock()
	sort.Slice(all, func(i, j int) bool { return slices.Compare(all[i].labels, all[j].labels) < 0 })
	family := Family{Desc: v.desc}
	for _, one := range all {
		family.Samples = append(family.Samples, one.series.samples(one.labels)...)
	}
	return []Family{family}
}

// Registry holds the collectors of a process.
type Registry struct{ collectors []Collector }

// Register adds collectors, before the first scrape. A name that is described twice is a mistake in the program and
// panics.
func (r *Registry) Register(collectors ...Collector) {
	names := map[string]bool{}
	r.collectors = append(r.collectors, collectors...)
	for _, collector := range r.collectors {
		for _, desc := range collector.Describe() {
			if names[desc.Name] {
				panic(desc.Name + " is registered twice")
			}
			names[desc.Name] = true
		}
	}
}

// Text returns every metric in the text format, sorted by name.
func (r *Registry) Text() []byte {
	var families []Family
	for _, collector := range r.collectors {
		families = append(families, collector.Collect()...)
	}
	sort.Slice(families, func(i, j int) bool { return families[i].Name < families[j].Name })
	var text []byte
	for i := range families {
		if len(families[i].Samples) > 0 {
			text = families[i].append(text)
		}
	}
	return text
}

// helps and values escape what the format does not take as it is.
var (
	helps  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)            //nolint:gochecknoglobals // a constant
	values = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`) //nolint:gochecknoglobals // a constant
)
