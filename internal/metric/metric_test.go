package metric

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/testing/protocmp"
)

// parsed reads a registry's text with the parser of Prometheus' client.
func parsed(t *testing.T, r *Registry) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(r.Text()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, r.Text())
	}
	return families
}

// gathered returns what Prometheus' client collects, by name.
func gathered(t *testing.T, from ...prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(from...)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*dto.MetricFamily{}
	for _, family := range families {
		found[family.GetName()] = family
	}
	return found
}

// Prometheus reads from the text what its own client would have counted.
func TestTextIsReadAsPrometheusClientWritesIt(t *testing.T) {
	t.Parallel()
	const hard = "a \"quoted\" \\ line\nand {another}, größer"
	bounds := []float64{.005, 1, 2.5}
	counts, gauges := NewCounters("things_total", hard, "kind", "other"), NewGauges("level", "A level.")
	sizes, empty := NewHistograms("sizes", "Sizes.", bounds, "of"), NewCounters("never_total", "No series.", "kind")
	theirCounts := prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: "things_total", Help: hard},
		[]string{"kind", "other"},
	)
	theirLevel := prometheus.NewGauge(prometheus.GaugeOpts{Name: "level", Help: "A level."})
	theirSizes := prometheus.NewHistogramVec(
		prometheus.HistogramOpts{Name: "sizes", Help: "Sizes.", Buckets: bounds},
		[]string{"of"},
	)
	for i, kind := range []string{hard, "", "plain", "plain"} {
		counts.With(kind, "x").Add(float64(i) * 1e20)
		theirCounts.WithLabelValues(kind, "x").Add(float64(i) * 1e20)
		counts.With("x", kind).Inc()
		theirCounts.WithLabelValues("x", kind).Inc()
	}
	for _, v := range []float64{-1, .005, .0051, 1, 2.5, 2.6, 1e9} {
		sizes.With("a").Observe(v)
		theirSizes.WithLabelValues("a").Observe(v)
	}
	sizes.With("none")
	theirSizes.WithLabelValues("none")
	gauges.With().Set(5)
	gauges.With().Dec()
	gauges.With().Add(-7.25)
	theirLevel.Set(-3.25)
	var r Registry
	r.Register(counts, gauges, sizes, empty)
	want := gathered(t, theirCounts, theirLevel, theirSizes)
	for _, metric := range want["sizes"].GetMetric() { // the client adds the last bucket as it writes
		h := metric.GetHistogram()
		h.Bucket = append(
			h.Bucket,
			&dto.Bucket{UpperBound: new(math.Inf(1)), CumulativeCount: new(h.GetSampleCount())},
		)
	}
	if diff := cmp.Diff(
		want,
		parsed(t, &r),
		protocmp.Transform(),
		protocmp.IgnoreFields(&dto.Counter{}, "created_timestamp"),
		protocmp.IgnoreFields(&dto.Histogram{}, "created_timestamp"),
		protocmp.SortRepeated(
			func(a, b *dto.Metric) bool { return fmt.Sprint(a.GetLabel()) < fmt.Sprint(b.GetLabel()) },
		),
	); diff != "" {
		t.Errorf("(-theirs +ours):\n%s", diff)
	}
}

// The runtime and the process have the metrics of Prometheus' client: the same names, types and labels, and the values
// that do not move between two looks.
func TestRuntimeAndProcessAreThoseOfPrometheusClient(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the metrics of a process are read from /proc")
	}
	runtime.GC()
	var r Registry
	r.Register(NewRuntime(), NewProcess())
	theirs := gathered(
		t,
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	ours := parsed(t, &r)
	for name, want := range theirs {
		got := ours[name]
		if got.GetType() != want.GetType() || len(got.GetMetric()) != len(want.GetMetric()) {
			t.Errorf("%s is %v; want %v", name, got, want)
			continue
		}
		for i, metric := range want.GetMetric() {
			ours := got.GetMetric()[i]
			diff := cmp.Diff(metric.GetLabel(), ours.GetLabel(), protocmp.Transform(), cmpopts.EquateEmpty())
			quantiles := len(metric.GetSummary().GetQuantile())
			if diff != "" || quantiles != len(ours.GetSummary().GetQuantile()) {
				t.Errorf("%s is %v; want %v", name, got, want)
			}
		}
	}
	for name := range ours {
		if theirs[name] == nil {
			t.Errorf("%s is not one of the client's", name)
		}
	}
	for _, name := range []string{
		"process_start_time_seconds", "process_max_fds", "process_virtual_memory_max_bytes", "go_gc_gogc_percent",
		"go_gc_gomemlimit_bytes", "go_sched_gomaxprocs_threads", "go_info",
	} {
		got, want := ours[name].GetMetric()[0].GetGauge(), theirs[name].GetMetric()[0].GetGauge()
		if got.GetValue() != want.GetValue() {
			t.Errorf("%s is %v; want %v", name, got, want)
		}
	}
	for _, name := range []string{
		"process_resident_memory_bytes", "process_virtual_memory_bytes", "go_memstats_heap_sys_bytes",
		"go_memstats_sys_bytes", "go_memstats_stack_sys_bytes", "go_memstats_last_gc_time_seconds",
	} { // these move little
		got := ours[name].GetMetric()[0].GetGauge().GetValue()
		want := theirs[name].GetMetric()[0].GetGauge().GetValue()
		if got < want*3/4 || got > want*4/3 {
			t.Errorf("%s is %v; the client says %v", name, got, want)
		}
	}
}

// A scrape sees as many observations as their sum has, while others observe.
func TestConcurrentObservationsAreCountedWhole(t *testing.T) {
	t.Parallel()
	sizes, counts := NewHistograms("sizes", "", []float64{1}, "of"), NewCounters("things_total", "", "of")
	const each, writers = 1000, 8
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				sizes.With("a").Observe(1)
				counts.With("a").Inc()
			}
		})
	}
	for range 100 {
		for _, family := range sizes.Collect() {
			samples := family.Samples
			if n := len(samples); n > 0 && samples[n-2].Value != samples[n-1].Value {
				t.Errorf("a sum of %v for %v observations of 1", samples[n-2].Value, samples[n-1].Value)
			}
		}
	}
	all.Wait()
	if got := counts.Collect()[0].Samples; len(got) != 1 || got[0].Value != each*writers {
		t.Errorf("%v", got)
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	level := NewGauges("level", "A level.")
	var r Registry
	r.Register(level)
	const text = "# HELP level A level.\n# TYPE level gauge\nlevel 0\n"
	for accepted, packed := range map[string]bool{
		"": false, "gzip": true, "deflate, GZIP;q=0.5": true, "gzip;q=0": false, "gzip; q=0.0": false, "br": false,
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		request.Header.Set("Accept-Encoding", accepted)
		recorder := httptest.NewRecorder()
		r.Handler(1).ServeHTTP(recorder, request)
		body := io.Reader(recorder.Body)
		if recorder.Header().Get("Content-Encoding") == "gzip" != packed {
			t.Errorf("%q is answered with %v", accepted, recorder.Header())
		}
		if packed {
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Fatal(err)
			}
		}
		got, err := io.ReadAll(body)
		if err != nil || string(got) != text || recorder.Header().Get("Content-Type") != contentType {
			t.Errorf("%q is answered %q, %v", accepted, got, recorder.Header())
		}
	}
}

// blocked is a collector that waits in Collect.
type blocked struct{ entered, released chan struct{} }

func (blocked) Describe() []Desc { return nil }
func (b blocked) Collect() []Family {
	b.entered <- struct{}{}
	<-b.released
	return nil
}

func TestScrapesAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	b := blocked{make(chan struct{}), make(chan struct{})}
	var r Registry
	r.Register(b)
	handler := r.Handler(1)
	scrape := func() int {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		return recorder.Code
	}
	first := make(chan int)
	go func() { first <- scrape() }()
	<-b.entered
	if status := scrape(); status != http.StatusServiceUnavailable {
		t.Errorf("a second scrape is answered %d", status)
	}
	close(b.released)
	if status := <-first; status != http.StatusOK {
		t.Errorf("the first scrape is answered %d", status)
	}
	go func() { <-b.entered }()
	if status := scrape(); status != http.StatusOK {
		t.Errorf("a scrape after it is answered %d", status)
	}
}

func TestMistakesPanic(t *testing.T) {
	t.Parallel()
	for name, mistake := range map[string]func(){
		"labels":    func() { NewCounters("a", "", "of").With() },
		"decrease":  func() { NewCounters("a", "").With().Add(-1) },
		"duplicate": func() { new(Registry).Register(NewCounters("a", ""), NewGauges("a", "")) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			mistake()
		}()
	}
}

// A series that exists is found without an allocation.
func TestWithAllocatesNothing(t *testing.T) {
	counts := NewCounters("things_total", "", "provider", "model")
	provider, model := "a provider", "a model with a long name"
	if n := testing.AllocsPerRun(100, func() { counts.With(provider, model).Inc() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
