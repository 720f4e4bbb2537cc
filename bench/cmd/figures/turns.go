package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"example.org/parley/bench"
)

// load is what one target consumed and achieved in one round.
type load struct {
	cpu   time.Duration // per turn
	first time.Duration // median
	rate  float64       // turns per second
}

// user is something that uses CPU time: one or several processes.
type user interface {
	CPU() (time.Duration, error)
}

// measure runs turns against a target and measures its CPU time.
func measure(ctx context.Context, process user, target bench.Target, clients, turns int) (load, error) {
	before, err := process.CPU()
	if err != nil {
		return load{}, err
	}
	began := time.Now()
	samples, err := bench.Run(ctx, target, clients, turns)
	if err != nil {
		return load{}, err
	}
	took := time.Since(began)
	after, err := process.CPU()
	return load{
		cpu: (after - before) / time.Duration(turns), rate: float64(turns) / took.Seconds(),
		first: bench.Median(samples, func(s bench.Sample) time.Duration { return s.First }),
	}, err
}

// sides holds rounds of the three targets, interleaved.
type sides struct{ direct, proxy, parley []load }

func (l *lab) compare(ctx context.Context, model string, clients, turns int) (sides, error) {
	var got sides
	server, err := l.start(ctx)
	if err != nil {
		return got, err
	}
	if err := server.agent(ctx, "bench", "openai/"+model, `{"kind":"single"}`); err != nil {
		return got, err
	}
	target, err := server.turns(ctx, "bench", clients)
	if err != nil {
		return got, err
	}
	direct, proxied := completions("direct", l.provider.Line, model), completions("proxy", l.proxy.Line, model)
	for round := range l.rounds + 1 { // the first warms up
		d, err := measure(ctx, l.provider, direct, clients, turns)
		if err != nil {
			return got, err
		}
		x, err := measure(ctx, l.proxy, proxied, clients, turns)
		if err != nil {
			return got, err
		}
		p, err := measure(ctx, server.Process, target, clients, turns)
		if err != nil {
			return got, err
		}
		if round > 0 {
			got.direct, got.proxy, got.parley = append(got.direct, d), append(got.proxy, x), append(got.parley, p)
		}
	}
	return got, server.end()
}

func medians(loads []load) load {
	var cpu, first []time.Duration
	var rate []float64
	for _, l := range loads {
		cpu, first, rate = append(cpu, l.cpu), append(first, l.first), append(rate, l.rate)
	}
	return load{cpu: medianOf(cpu), first: medianOf(first), rate: medianOf(rate)}
}

func ratio[N time.Duration | float64](a, b N) float64 { return float64(a) / float64(b) }

// cpuFigures measures 200-token turns, tokens as fast as they come, 64 at once.
func cpuFigures(ctx context.Context, l *lab, out io.Writer) error {
	got, err := l.compare(ctx, bench.ModelName(200, 0), 64, 4000)
	if err != nil {
		return err
	}
	proxy, parley := medians(got.proxy), medians(got.parley)
	fmt.Fprintf(
		out,
		"CPU of the server per 200-token turn, 64 at once: proxy %v, parley %v: %.2f× (bound 3×)\n",
		proxy.cpu,
		parley.cpu,
		ratio(parley.cpu, proxy.cpu),
	)
	fmt.Fprintf(
		out,
		"turns/s at 64 at once: proxy %.0f, parley %.0f: %.0f %% (bound 40 %%)\n",
		proxy.rate,
		parley.rate,
		100*ratio(parley.rate, proxy.rate),
	)
	return nil
}

// pacedFigures measures one token every 5 ms, with 128 and 512 streams at once.
func pacedFigures(ctx context.Context, l *lab, out io.Writer) error {
	for _, streams := range []int{128, 512} {
		got, err := l.compare(ctx, bench.ModelName(200, 5*time.Millisecond), streams, 2*streams)
		if err != nil {
			return err
		}
		proxy, parley := medians(got.proxy), medians(got.parley)
		fmt.Fprintf(out, "CPU of the server per token at 5 ms, %d streams: proxy %v, parley %v: %.2f× (bound 2×)\n",
			streams, proxy.cpu/200, parley.cpu/200, ratio(parley.cpu, proxy.cpu))
	}
	return nil
}

// firstFigures measures the time to the first token, for one client and for many starting together.
func firstFigures(ctx context.Context, l *lab, out io.Writer) error {
	got, err := l.compare(ctx, bench.ModelName(20, 0), 1, 400)
	if err != nil {
		return err
	}
	direct, proxy, parley := medians(got.direct), medians(got.proxy), medians(got.parley)
	commit, err := diskCommit(l.dir)
	if err != nil {
		return err
	}
	added := parley.first - direct.first
	fmt.Fprintf(
		out,
		"time to first token, one client: direct %v, proxy %v, parley %v: added %v (bound 1.5 ms, or 8 durable "+
			"commits of %v: %.1f of them)\n",
		direct.first,
		proxy.first,
		parley.first,
		added,
		commit,
		ratio(added, commit),
	)
	for _, clients := range []int{16, 128} {
		got, err := l.compare(ctx, bench.ModelName(20, 0), clients, clients)
		if err != nil {
			return err
		}
		proxy, parley := medians(got.proxy), medians(got.parley)
		fmt.Fprintf(
			out,
			"time to first token, %d starting together: proxy %v, parley %v: %.2f× (bound 6×)\n",
			clients,
			proxy.first,
			parley.first,
			ratio(parley.first, proxy.first),
		)
	}
	return nil
}
