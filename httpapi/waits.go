package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/store"
	"example.org/parley/stream"
)

// The bounds of how long a request waits for the end of a turn.
const (
	StandardWait = 30 * time.Second
	MaxWait      = 5 * time.Minute
)

// waitPath ends the path of a route that waits for the end of the turn that it begins.
const waitPath = "/wait"

// waitName is the query parameter that makes a route wait.
const waitName = "wait"

// waitParameter marks the routes that begin a turn and may wait for its end.
func waitParameter() parameter {
	return parameter{
		name: waitName,
		about: "How long to wait for the end of the turn: seconds, or a duration such as 30s or 2m; at most 5m, 30s " +
			"by default. The header Prefer: wait=30 says the same in seconds.",
		schema: huma.Schema{Type: huma.TypeString},
	}
}

// withWaits adds for each route that may wait for the turn that it begins another route that always does, so that each
// operation of the document has one kind of answer. The first still waits if the query or the header Prefer asks for
// it.
func withWaits(list []route) []route {
	for i := range list {
		if r := &list[i]; r.mayWait() {
			list = append(list, r.wait())
		}
	}
	return list
}

// mayWait reports whether the route waits for a turn when it is asked to.
func (r *route) mayWait() bool { return r.of == "" && r.parameter(waitName) != nil }

// wait is the route that waits for the end of the turn that r begins.
func (r *route) wait() route {
	w := *r
	w.name, w.of, w.waits = r.name+"AndWait", r.name, true
	w.says = r.says + ", and wait for the answer"
	w.about = "As " + r.name + ", which says the rest; the answer is the turn with its messages, as soon as it ends " +
		"or waits for somebody. Giving up the request cancels nothing, and a repeat with the same Idempotency-Key " +
		"waits for the same turn."
	w.paths = make([]string, 0, len(r.paths))
	for _, path := range r.paths {
		w.paths = append(w.paths, path+waitPath)
	}
	w.query, w.headers = []parameter{waitParameter()}, nil
	for _, header := range r.headers {
		if header.name != acceptHeader().name {
			w.headers = append(w.headers, header)
		}
	}
	w.answers = []answer{
		waited(http.StatusOK, "The turn has ended, or waits: its status says for what."),
		waited(http.StatusAccepted, "The time is over and the turn is not: read it at Location."),
	}
	return w
}

// asksToWait returns how long the request wants to wait for the turn that it begins; ok is false if it does not.
func (x *exchange) asksToWait(r *route) (wait time.Duration, ok bool, err error) {
	if !r.waits && !r.mayWait() {
		return 0, false, nil
	}
	if given := x.query.Get(waitName); given != "" {
		wait, ok = parseWait(given)
		if !ok {
			return 0, false, parley.InvalidField(waitName, "must be seconds, or a duration such as 30s; at most 5m")
		}
		return wait, true, nil
	}
	for _, header := range x.r.Header.Values("Prefer") { // RFC 7240: what cannot be honoured is ignored
		for preference := range strings.SplitSeq(header, ",") {
			preference, _, _ = strings.Cut(preference, ";")
			name, given, _ := strings.Cut(preference, "=")
			if !strings.EqualFold(strings.TrimSpace(name), waitName) {
				continue
			}
			seconds, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(given), `"`), 10, 31)
			if err == nil {
				return min(time.Duration(seconds)*time.Second, MaxWait), true, nil
			}
		}
	}
	return StandardWait, r.waits, nil
}

// parseWait reads seconds or a duration.
func parseWait(given string) (time.Duration, bool) {
	wait, err := time.ParseDuration(given)
	if seconds, failed := strconv.ParseUint(given, 10, 31); failed == nil {
		wait, err = time.Duration(seconds)*time.Second, nil
	}
	return wait, err == nil && wait >= 0 && wait <= MaxWait
}

// Answered is what a request that waits for its turn is answered with.
type Answered struct {
	Message  *parley.Message  `json:"message" doc:"The message that began the turn, or that was posted; null without one."`
	Turn     *parley.Turn     `json:"turn" doc:"The turn as it is now; null if the message began none."`
	Messages []parley.Message `json:"messages" doc:"The turn's messages so far, its trigger first: the first 1,000."`
	Next     *string          `json:"next" doc:"The cursor of the rest in the list of messages, with turn; null at the end."`
}

// answerPosted waits for the turn of a message that the request posted, if it began one.
func (a *api) answerPosted(x *exchange, posted *store.Posted) error {
	if posted.Message.TurnID.IsZero() {
		return sendJSON(x, http.StatusOK, Answered{Message: &posted.Message, Messages: []parley.Message{}})
	}
	return a.answerTurn(x, turnOf(posted, MaxWait))
}

// answerTurn waits until a turn ends, waits for somebody, or the request's time is over, and answers with it.
func (a *api) answerTurn(x *exchange, request stream.Request) error {
	a.endWithKey(x)
	x.body = nil // it is in the record
	x.letGo()
	x.leavePlace()
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Time{}) // a turn may take longer than an answer
	turn, over, err := a.awaitTurn(x, request)
	if err != nil {
		return err
	}
	ctx := x.r.Context()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if x.leave, err = a.answers.Enter(ctx, x.principal.ID); err != nil {
		return err
	}
	defer x.leavePlace()
	_ = http.NewResponseController(x.w).SetWriteDeadline(time.Now().Add(StandardWait + AnswerTimeout))
	page, err := a.engine.Messages(ctx, x.principal, turn.SessionID, engine.MessageList{
		Paging: engine.Paging{Limit: parley.MaxPage}, TurnIDs: []parley.ID{turn.ID},
	})
	if err != nil {
		return err
	}
	answer := Answered{Turn: &turn, Messages: page.Data, Next: page.Next}
	trigger, err := a.engine.Message(ctx, x.principal, turn.TriggerMessageID)
	if err != nil {
		return err
	}
	answer.Message = &trigger
	if over {
		return sendJSON(x, http.StatusOK, answer)
	}
	x.w.Header().Set("Location", "/v1/turns/"+turn.ID.String())
	return sendJSON(x, http.StatusAccepted, answer)
}

// awaitTurn returns the turn as it is when it ends, begins to wait, or the request's time is over; over tells the first
// two.
func (a *api) awaitTurn(x *exchange, request stream.Request) (turn parley.Turn, over bool, err error) {
	// of one that is over, a repeat need not read the events
	if turn, err = a.engine.Turn(x.r.Context(), x.principal, request.UntilTurn); err != nil || turn.Status.Finished() {
		return turn, true, err
	}
	ctx, stop := context.WithTimeout(x.r.Context(), x.wait)
	defer stop()
	frames, err := a.streams.Follow(ctx, x.principal, request)
	if err != nil {
		return parley.Turn{}, false, err
	}
	defer frames.Close()
	for frame, err := range frames.Frames(ctx) {
		ended := err != nil || frame.Kind == stream.EventFrame && frame.Event.Type.EndsTurn()
		if !ended && (frame.Kind != stream.EventFrame || frame.Event.Type != parley.EventSessionWaiting) {
			continue
		}
		turn, failed := a.engine.Turn(x.r.Context(), x.principal, request.UntilTurn)
		switch {
		case failed != nil:
			return parley.Turn{}, false, failed
		case turn.Status.Finished() || turn.Status == parley.TurnWaiting:
			return turn, true, nil
		case ended: // the time is over, or the process stops
			return turn, false, nil
		}
	}
	turn, err = a.engine.Turn(x.r.Context(), x.principal, request.UntilTurn)
	return turn, turn.Status.Finished(), err
}

// waited describes an answer of a request that waits.
func waited(status int, about string) answer {
	return answer{status: status, about: about, goType: reflect.TypeFor[Answered](), example: answeredExample}
}
