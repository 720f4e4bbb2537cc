package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"runtime/pprof"
	"strconv"
	"time"

	"example.org/parley"
)

// The bounds of a profile.
const (
	mostProfiled  = 60 * time.Second // of the processor, and less than httpapi.AnswerTimeout
	usualProfiled = 30 * time.Second // without ?seconds=
)

// profiles answers /debug/pprof at the metrics' address, one request at a time, for `go tool pprof`. net/http/pprof
// would also show the command line, which may contain a password, and register itself with every server of the
// process.
type profiles struct {
	after  func(time.Duration) <-chan time.Time
	slot   chan struct{} // holds an entry while a profile is taken
	closed chan struct{}
}

func newProfiles(after func(time.Duration) <-chan time.Time) *profiles {
	return &profiles{after: after, slot: make(chan struct{}, 1), closed: make(chan struct{})}
}

// close ends the current profile, waits for its end, and refuses others.
func (p *profiles) close() {
	close(p.closed)
	p.slot <- struct{}{}
}

// beside serves profiles, and leaves everything else to the other handler.
func (p *profiles) beside(other http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", other)
	mux.HandleFunc("GET /debug/pprof/profile", p.serve(processor))
	for _, name := range []string{"heap", "allocs", "goroutine"} {
		mux.HandleFunc("GET /debug/pprof/"+name, p.serve(snapshot(name)))
	}
	return mux
}

// serve answers with one kind of profile.
func (p *profiles) serve(take func(*profiles, *http.Request, io.Writer) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case p.slot <- struct{}{}:
			defer func() { <-p.slot }()
		default:
			sendProblem(
				w,
				http.StatusConflict,
				parley.CodeConflict,
				"Another profile is being taken. Wait until it is done.",
			)
			return
		}
		var profile bytes.Buffer // complete before the status is sent: tens to hundreds of kilobytes
		err := take(p, r, &profile)
		var known *parley.Error
		switch {
		case errors.As(err, &known) && known.Code == parley.CodeInvalid:
			sendProblem(w, http.StatusUnprocessableEntity, known.Code, known.Message)
		case err != nil:
			sendProblem(w, http.StatusConflict, parley.CodeConflict, "This process is being profiled by other means.")
		default:
			w.Header().Set("Content-Type", "application/octet-stream")
			_, _ = w.Write(profile.Bytes()) // the client may be gone
		}
	}
}

// processor records a CPU profile, for the requested seconds or until the client leaves or the server closes.
func processor(p *profiles, r *http.Request, out io.Writer) error {
	within := usualProfiled
	if asked := r.URL.Query().Get("seconds"); asked != "" {
		seconds, err := strconv.Atoi(asked)
		if within = time.Duration(
			seconds,
		) * time.Second; err != nil || seconds < 1 ||
			seconds > int(mostProfiled/time.Second) {
			return parley.InvalidField(
				"seconds",
				"%q is not a number from 1 to %d",
				parley.Clip(asked, 32),
				mostProfiled/time.Second,
			)
		}
	}
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	select {
	case <-p.after(within):
	case <-r.Context().Done():
	case <-p.closed:
	}
	return nil
}

// snapshot writes a profile that Go always keeps.
func snapshot(name string) func(*profiles, *http.Request, io.Writer) error {
	return func(_ *profiles, _ *http.Request, out io.Writer) error { return pprof.Lookup(name).WriteTo(out, 0) }
}
