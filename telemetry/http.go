package telemetry

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"example.org/parley"
)

// requestIDHeader is the response header with the request's id.
const requestIDHeader = "Parley-Request-Id"

// HTTP counts and times a handler's answers by route (http.Request.Pattern), and joins the traces of callers.
func (t *Telemetry) HTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.metrics.httpOpen.With().Inc()
		a := newAnswer(t, w, r)
		defer a.end()
		next.ServeHTTP(a, a.request)
	})
}

// answer is the response to one client. Only the request's goroutine uses it.
type answer struct {
	http.ResponseWriter

	t       *Telemetry
	request *http.Request
	flusher flusher // nil if the connection cannot flush
	began   time.Time
	status  int  // 0 until the header is written
	lasting bool // an event stream
	cut     bool // cut off: its reader accepted nothing for too long
	span    trace.Span
}

// flusher is implemented by net/http's own writers.
type flusher interface{ FlushError() error }

func newAnswer(t *Telemetry, w http.ResponseWriter, r *http.Request) *answer {
	a := &answer{ResponseWriter: w, t: t, request: r, began: time.Now()}
	a.flusher, _ = w.(flusher)
	if t.traces != nil && !probe(r.URL.Path) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		ctx, a.span = t.traces.tracer.Start(ctx, methodOf(r), trace.WithSpanKind(trace.SpanKindServer))
		a.request = r.WithContext(parley.WithTraceParent(ctx, traceParent(ctx)))
	}
	return a
}

// probe reports whether a path is polled by machines.
func probe(path string) bool { return path == "/healthz" || path == "/readyz" || path == "/metrics" }

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
		if strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream") {
			a.lasting = true
			a.count()
		}
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(data []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	n, err := a.ResponseWriter.Write(data)
	a.noteCut(err)
	return n, err
}

// FlushError serves http.ResponseController.
func (a *answer) FlushError() error {
	if a.flusher == nil {
		return errors.ErrUnsupported
	}
	err := a.flusher.FlushError()
	a.noteCut(err)
	return err
}

func (a *answer) noteCut(err error) {
	if err != nil && a.lasting && !a.cut && errors.Is(err, os.ErrDeadlineExceeded) {
		a.cut = true
		a.t.metrics.readersCut.With().Inc()
	}
}

// end is called when the handler has ended, also by a panic.
func (a *answer) end() {
	a.t.metrics.httpOpen.With().Dec()
	if a.lasting {
		return
	}
	if a.status == 0 {
		a.status = http.StatusOK // as net/http does for a handler that wrote nothing
	}
	a.count()
	a.t.metrics.httpTime.With(methodOf(a.request), routeOf(a.request)).Observe(time.Since(a.began).Seconds())
}

// count counts the answer and ends its span; for a stream when it begins.
func (a *answer) count() {
	method, route := methodOf(a.request), routeOf(a.request)
	a.t.metrics.httpRequests.With(method, route, strconv.Itoa(a.status)).Inc()
	if a.span == nil {
		return
	}
	a.span.SetName(method + " " + route)
	a.span.SetAttributes(attrHTTPMethod.String(method), attrHTTPRoute.String(route), attrHTTPStatus.Int(a.status),
		attrRequestID.String(a.Header().Get(requestIDHeader)))
	if a.status >= http.StatusInternalServerError {
		failSpan(a.span, strconv.Itoa(a.status))
	}
	a.span.End()
}

// methodOf returns a request's method, other for an unknown one.
func methodOf(r *http.Request) string {
	if slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions}, r.Method) {
		return r.Method
	}
	return other
}

// routeOf returns the pattern that a request was routed by, without its method; other if there is none.
func routeOf(r *http.Request) string {
	_, path, ok := strings.Cut(r.Pattern, " ")
	if !ok {
		path = r.Pattern
	}
	if path == "" || path == "/" {
		return other
	}
	return path
}
