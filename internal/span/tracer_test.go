package span

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

const (
	someTrace  = "0af7651916cd43dd8448eb211c80319c"
	someParent = "00-" + someTrace + "-b7ad6b7169203331-01"
)

func environment(settings ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(settings); i += 2 {
			if settings[i] == name {
				return settings[i+1]
			}
		}
		return ""
	}
}

// OpenTelemetry's propagator reads the same headers, and writes the same.
func TestHeadersAreThoseOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	for _, header := range []string{
		someParent, "", "junk", "00-" + someTrace + "-b7ad6b7169203331-00", "00-" + someTrace + "-b7ad6b7169203331-03",
		"00-" + someTrace + "-b7ad6b7169203331-04", "00-" + someTrace + "-b7ad6b7169203331-1", someParent + "-more",
		someParent + "more", "01" + someParent[2:], "01" + someParent[2:] + "-more", "01" + someParent[2:] + "more",
		"ff" + someParent[2:], "01-" + someTrace + "-b7ad6b7169203331-ff", strings.ToUpper(someParent),
		"00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", "00-" + someTrace + "-0000000000000000-01",
		strings.ReplaceAll(someParent, "-", "_"), " " + someParent, someParent[:54] + "g",
	} {
		theirs := propagation.MapCarrier{}
		carried := propagation.MapCarrier{TraceParent: header, TraceState: "vendor=state"}
		ctx := propagation.TraceContext{}.Extract(t.Context(), carried)
		propagation.TraceContext{}.Inject(ctx, theirs)
		joined := Join(t.Context(), header, "vendor=state")
		ours, _ := ContextOf(joined)
		if Parent(joined) != theirs[TraceParent] || ours.state != theirs[TraceState] {
			t.Errorf("%q is read as %q with %q; OpenTelemetry reads %q with %q",
				header, Parent(joined), ours.state, theirs[TraceParent], theirs[TraceState])
		}
	}
	for _, state := range []string{strings.Repeat("a", maxTraceState) + "=b", "a=\n", "a=\xff"} {
		if ours, ok := ContextOf(Join(t.Context(), someParent, state)); !ok || ours.state != "" {
			t.Errorf("a tracestate of %d bytes is passed on", len(state))
		}
	}
}

// The settings choose the traces that the SDK chooses.
func TestSamplersAreThoseOfOpenTelemetry(t *testing.T) {
	t.Parallel()
	for name, theirs := range map[string]sdk.Sampler{
		"": sdk.ParentBased(sdk.AlwaysSample()), "always_on": sdk.AlwaysSample(), "always_off": sdk.NeverSample(),
		"traceidratio 0.25": sdk.TraceIDRatioBased(0.25), "traceidratio 1": sdk.TraceIDRatioBased(1),
		"traceidratio 0": sdk.TraceIDRatioBased(0), "parentbased_always_on": sdk.ParentBased(sdk.AlwaysSample()),
		"parentbased_always_off":      sdk.ParentBased(sdk.NeverSample()),
		"ParentBased_TraceIDRatio .5": sdk.ParentBased(sdk.TraceIDRatioBased(0.5)),
	} {
		sampler, arg, _ := strings.Cut(name, " ")
		settings, err := ReadSettings(environment("OTEL_TRACES_SAMPLER", sampler, "OTEL_TRACES_SAMPLER_ARG", arg))
		if err != nil {
			t.Fatal(err)
		}
		for _, parent := range []string{"", someParent, someParent[:53] + "00"} {
			for low := uint64(1); low < math.MaxUint64/2; low += math.MaxUint64 / 16 {
				id := [16]byte{1}
				binary.BigEndian.PutUint64(id[8:], low)
				carried := propagation.MapCarrier{TraceParent: parent}
				decided := theirs.ShouldSample(sdk.SamplingParameters{
					ParentContext: propagation.TraceContext{}.Extract(t.Context(), carried), TraceID: trace.TraceID(id),
				})
				of, _ := ContextOf(Join(t.Context(), parent, ""))
				if got := settings.sampler.samples(of, id); got != (decided.Decision == sdk.RecordAndSample) {
					t.Errorf("%q with parent %q takes trace %x: %t; the SDK decides otherwise", name, parent, id, got)
				}
			}
		}
	}
}

func TestSettingsThatCannotBeUsedAreNamed(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"OTEL_TRACES_SAMPLER": "some", "OTEL_BSP_SCHEDULE_DELAY": "0", "OTEL_BSP_EXPORT_TIMEOUT": "5s",
		"OTEL_BSP_MAX_QUEUE_SIZE": "99999999999", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "-1",
	} {
		if _, err := ReadSettings(environment(name, value)); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
	for _, share := range []string{"2", "-1", "NaN", "half"} {
		if _, err := ReadSettings(environment("OTEL_TRACES_SAMPLER", "traceidratio",
			"OTEL_TRACES_SAMPLER_ARG", share)); err == nil {
			t.Errorf("a share of %s is accepted", share)
		}
	}
	if _, err := ReadResource(environment("OTEL_RESOURCE_ATTRIBUTES", "key")); err == nil {
		t.Error("a resource's attribute without a value is accepted")
	}
}

func TestResourceIsWhatTheSettingsSay(t *testing.T) {
	t.Parallel()
	got, err := ReadResource(environment("OTEL_RESOURCE_ATTRIBUTES", "a = b%20c,service.name=other",
		"OTEL_SERVICE_NAME", "mine"), Key("service.name").String("parley"), Key("process.pid").Int(1))
	if err != nil {
		t.Fatal(err)
	}
	want := []Attribute{Key("service.name").String("mine"), Key("process.pid").Int(1), Key("a").String("b c")}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Attribute{})); diff != "" {
		t.Errorf("the resource (-want +got):\n%s", diff)
	}
}

// batches is an Exporter that holds the names of the spans of each batch.
type batches struct {
	got  chan []string
	hang bool // until the export's time is over
}

func (b *batches) Export(ctx context.Context, batch []byte, n int) {
	if b.hang {
		<-ctx.Done()
	}
	var data otlp.TracesData
	var names []string
	if err := proto.Unmarshal(batch, &data); err == nil {
		for _, span := range data.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
			names = append(names, span.GetName())
		}
	}
	if n != len(names) {
		names = nil
	}
	b.got <- names
}

func tracer(t *testing.T, to Exporter, settings ...string) *Tracer {
	t.Helper()
	read, err := ReadSettings(environment(settings...))
	if err != nil {
		t.Fatal(err)
	}
	return NewTracer(read, to, "name", "version", nil)
}

// A batch leaves when it is full, when the delay has passed, or at the end; ended spans are exported once, and spans of
// traces that are not recorded never.
func TestSpansLeaveInBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &batches{got: make(chan []string, 10)}
		of := tracer(t, to, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "2", "OTEL_BSP_SCHEDULE_DELAY", "1000")
		expect := func(want ...string) {
			t.Helper()
			select {
			case got := <-to.got:
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("a batch (-want +got):\n%s", diff)
				}
			case <-time.After(time.Minute): // of the bubble's clock
				t.Fatalf("no batch with %v", want)
			}
		}
		end := func(ctx context.Context, name string) {
			_, span := of.Start(ctx, name, KindInternal)
			span.End()
			span.End()
		}
		end(t.Context(), "a")
		end(t.Context(), "b")
		expect("a", "b")
		end(Join(t.Context(), someParent[:53]+"00", ""), "not recorded")
		end(t.Context(), "c")
		began := time.Now()
		expect("c")
		if took := time.Since(began); took != time.Second {
			t.Errorf("a batch left after %s; want the delay", took)
		}
		end(t.Context(), "d")
		if err := of.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		end(t.Context(), "too late")
		expect("d")
		if err := of.Shutdown(t.Context()); err != nil || len(to.got) > 0 {
			t.Errorf("again: %v, with %d batches", err, len(to.got))
		}
	})
}

// A collector that hangs makes no span wait, and holds a stopping process no longer than it may.
func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &batches{got: make(chan []string, 1000), hang: true}
		of := tracer(t, to, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1", "OTEL_BSP_MAX_QUEUE_SIZE", "3")
		for range 50 {
			_, span := of.Start(t.Context(), "span", KindInternal)
			span.End()
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := of.Shutdown(ctx); err == nil {
			t.Error("a shutdown that lost spans says nothing")
		}
		if n := len(to.got); n != 4 { // one in its export, three in the queue
			t.Errorf("%d spans were exported; want 4", n)
		}
	})
}

// A child belongs to its parent's trace, and a remote parent's notes are passed on; the oldest events give way.
func TestSpansHoldWhatWasRecorded(t *testing.T) {
	t.Parallel()
	of := tracer(t, &batches{got: make(chan []string, 10)})
	ctx, outer := of.Start(Join(t.Context(), someParent, "vendor=state"), "outer", KindServer)
	_, inner := of.Start(ctx, "inner", KindInternal, Key("a").Int(1), Key("").Int(1))
	if inner.context.TraceID() != someTrace || inner.parent.spanID != outer.context.spanID || inner.parent.remote ||
		!outer.parent.remote || inner.context.state != "vendor=state" || inner.context.spanID == outer.context.spanID {
		t.Errorf("the inner span is %+v, the outer %+v", inner.context, outer.context)
	}
	if FromContext(ctx) != outer || FromContext(t.Context()) != nil ||
		FromContext(Join(t.Context(), someParent, "")) != nil {
		t.Error("the context names another span")
	}
	inner.Set(Key("b").Int(2), Key("a").Int(3))
	want := []Attribute{Key("a").Int(3), Key("b").Int(2)}
	if diff := cmp.Diff(want, inner.attributes, cmp.AllowUnexported(Attribute{})); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
	for range maxEvents + 2 {
		inner.Event("event")
	}
	if len(inner.events) != maxEvents || inner.dropped != 2 {
		t.Errorf("%d events are kept, %d gave way", len(inner.events), inner.dropped)
	}
	var none *Span
	none.Set(Key("a").Int(1))
	none.Fail("nothing")
	none.End()
	if err := of.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}
