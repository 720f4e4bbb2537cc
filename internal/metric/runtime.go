package metric

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"time"
)

// runtimeRow is a metric that is the sum of some of runtime/metrics.
type runtimeRow struct {
	name, help string
	kind       Kind
	from       []string // metrics of kind uint64
}

// runtimeRows are the runtime's metrics under the names that Prometheus' client made usual.
func runtimeRows() []runtimeRow {
	const (
		objects, unused = "/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes"
		released, free  = "/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes"
		stacks          = "/memory/classes/heap/stacks:bytes"
		spans, caches   = "/memory/classes/metadata/mspan/inuse:bytes", "/memory/classes/metadata/mcache/inuse:bytes"
		tiny            = "/gc/heap/tiny/allocs:objects"
	)
	from := func(metrics ...string) []string { return metrics }
	return []runtimeRow{
		{"go_gc_gogc_percent", "The heap's growth that begins a collection, as GOGC sets it.", KindGauge,
			from("/gc/gogc:percent")},
		{"go_gc_gomemlimit_bytes", "The runtime's limit of memory, as GOMEMLIMIT sets it.", KindGauge,
			from("/gc/gomemlimit:bytes")},
		{"go_sched_gomaxprocs_threads", "The threads that may run Go code at once.", KindGauge,
			from("/sched/gomaxprocs:threads")},
		{"go_goroutines", "Goroutines that exist.", KindGauge, from("/sched/goroutines:goroutines")},
		{"go_memstats_alloc_bytes", "Bytes of objects on the heap.", KindGauge, from(objects)},
		{"go_memstats_alloc_bytes_total", "Bytes ever allocated on the heap.", KindCounter,
			from("/gc/heap/allocs:bytes")},
		{"go_memstats_sys_bytes", "Bytes obtained from the system.", KindGauge, from("/memory/classes/total:bytes")},
		{"go_memstats_mallocs_total", "Objects ever allocated on the heap.", KindCounter,
			from("/gc/heap/allocs:objects", tiny)},
		{"go_memstats_frees_total", "Objects ever freed.", KindCounter, from("/gc/heap/frees:objects", tiny)},
		{"go_memstats_heap_alloc_bytes", "Bytes of objects on the heap.", KindGauge, from(objects)},
		{"go_memstats_heap_sys_bytes", "Bytes of the heap, obtained from the system.", KindGauge,
			from(objects, unused, released, free)},
		{"go_memstats_heap_idle_bytes", "Bytes of the heap without objects.", KindGauge, from(released, free)},
		{"go_memstats_heap_inuse_bytes", "Bytes of the heap's spans that hold objects.", KindGauge,
			from(objects, unused)},
		{"go_memstats_heap_released_bytes", "Bytes of the heap returned to the system.", KindGauge, from(released)},
		{"go_memstats_heap_objects", "Objects on the heap.", KindGauge, from("/gc/heap/objects:objects")},
		{"go_memstats_stack_inuse_bytes", "Bytes of stacks in use.", KindGauge, from(stacks)},
		{"go_memstats_stack_sys_bytes", "Bytes of stacks, obtained from the system.", KindGauge,
			from(stacks, "/memory/classes/os-stacks:bytes")},
		{"go_memstats_mspan_inuse_bytes", "Bytes of descriptions of spans in use.", KindGauge, from(spans)},
		{"go_memstats_mspan_sys_bytes", "Bytes of descriptions of spans, obtained from the system.", KindGauge,
			from(spans, "/memory/classes/metadata/mspan/free:bytes")},
		{"go_memstats_mcache_inuse_bytes", "Bytes of the allocator's caches in use.", KindGauge, from(caches)},
		{"go_memstats_mcache_sys_bytes", "Bytes of the allocator's caches, obtained from the system.", KindGauge,
			from(caches, "/memory/classes/metadata/mcache/free:bytes")},
		{"go_memstats_buck_hash_sys_bytes", "Bytes of the profiler's table.", KindGauge,
			from("/memory/classes/profiling/buckets:bytes")},
		{"go_memstats_gc_sys_bytes", "Bytes of the collector's metadata.", KindGauge,
			from("/memory/classes/metadata/other:bytes")},
		{"go_memstats_other_sys_bytes", "Bytes of other memory, obtained from the system.", KindGauge,
			from("/memory/classes/other:bytes")},
		{"go_memstats_next_gc_bytes", "The heap's size that begins the next collection.", KindGauge,
			from("/gc/heap/goal:bytes")},
	}
}

// Runtime collects the metrics of Go's runtime.
type Runtime struct{ rows []runtimeRow }

// NewRuntime returns the collector.
func NewRuntime() *Runtime { return &Runtime{rows: runtimeRows()} }

func (*Runtime) others() (threads, collections, last, info Desc) {
	return Desc{Name: "go_threads", Help: "Threads of the system that were created.", Kind: KindGauge},
		Desc{Name: "go_gc_duration_seconds", Help: "Pauses of garbage collection.", Kind: KindSummary},
		Desc{Name: "go_memstats_last_gc_time_seconds", Help: "When the last collection ended, in Unix time.",
			Kind: KindGauge},
		Desc{Name: "go_info", Help: "1, with the version of Go.", Kind: KindGauge, Labels: []string{"version"}}
}

// Describe implements Collector.
func (r *Runtime) Describe() []Desc {
	threads, collections, last, info := r.others()
	descs := []Desc{threads, collections, last, info}
	for _, row := range r.rows {
		descs = append(descs, Desc{Name: row.name, Help: row.help, Kind: row.kind})
	}
	return descs
}

// Collect implements Collector. It does not stop the world.
func (r *Runtime) Collect() []Family {
	var samples []metrics.Sample
	for _, row := range r.rows {
		for _, name := range row.from {
			samples = append(samples, metrics.Sample{Name: name})
		}
	}
	metrics.Read(samples)
	families := make([]Family, 0, len(r.rows)+4)
	for _, row := range r.rows {
		value, known := uint64(0), true
		for _, sample := range samples[:len(row.from)] {
			if known = known && sample.Value.Kind() == metrics.KindUint64; known {
				value += sample.Value.Uint64()
			}
		}
		samples = samples[len(row.from):]
		if known { // a later Go may drop one
			families = append(families, one(Desc{Name: row.name, Help: row.help, Kind: row.kind}, float64(value)))
		}
	}
	threads, collections, last, info := r.others()
	stats := debug.GCStats{PauseQuantiles: make([]time.Duration, 5)}
	debug.ReadGCStats(&stats)
	pauses := Family{Desc: collections}
	for i, quantile := range []string{"0", "0.25", "0.5", "0.75", "1"} {
		pauses.Samples = append(pauses.Samples, Sample{Bound: quantile, Value: stats.PauseQuantiles[i].Seconds()})
	}
	pauses.Samples = append(
		pauses.Samples,
		Sample{Suffix: "_sum", Value: stats.PauseTotal.Seconds()},
		Sample{Suffix: "_count", Value: float64(stats.NumGC)},
	)
	return append(
		families,
		pauses,
		one(threads, float64(pprof.Lookup("threadcreate").Count())),
		one(last, float64(stats.LastGC.UnixNano())/1e9),
		Family{Desc: info, Samples: []Sample{{Labels: []string{runtime.Version()}, Value: 1}}},
	)
}

// one returns a family of one sample without labels.
func one(desc Desc, value float64) Family {
	return Family{Desc: desc, Samples: []Sample{{Value: value}}}
}
