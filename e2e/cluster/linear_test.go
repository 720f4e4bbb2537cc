package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.org/parley"
	"example.org/parley/client"
)

// The size of the histories, and how long the checker may work on one.
const (
	linearSessions = 12
	linearClients  = 5  // of each session
	linearActions  = 14 // of each client
	linearWork     = linearSessions * linearClients
	checkBound     = 15 * time.Second
)

// TestLinearizableOnSQLite: clients post, read and cancel concurrently while the process dies
// again and again. There must be an order of all their actions in which each response is
// right, and which agrees with real time.
func TestLinearizableOnSQLite(t *testing.T) {
	t.Parallel()
	row(t, func(t *testing.T, at uint64) { linearizable(newTrial(t, at, sqliteFile(), 1, 1)) })
}

// TestLinearizable is the same with three processes.
func TestLinearizable(t *testing.T) {
	row(t, func(t *testing.T, at uint64) { linearizable(newTrial(t, at, postgresDatabase(t), 3, 2)) })
}

// history collects the requests and responses of the clients of one session.
type history struct {
	x       *trial
	account *account
	session parley.ID
	began   time.Time

	mu         sync.Mutex // guards the fields below
	operations []porcupine.Operation
	numbers    map[parley.ID]int // of messages
}

func linearizable(x *trial) {
	defer x.tell()
	ctx, cancel := context.WithTimeout(x.t.Context(), loadBound)
	defer cancel()
	histories := make([]*history, linearSessions)
	for i, d := range x.drivers(ctx, linearSessions) {
		histories[i] = &history{
			x:       x,
			account: d.account,
			session: d.session,
			began:   time.Now(),
			numbers: map[parley.ID]int{},
		}
	}
	breaking, whole := context.WithCancel(ctx)
	defer whole()
	var breaks, load sync.WaitGroup
	breaks.Go(func() { newFaults(x, linearWork).run(breaking) })
	for i, h := range histories {
		for c := range linearClients {
			random := rand.New(rand.NewPCG(x.seed, uint64(1000*i+c)))
			load.Go(func() { h.act(ctx, c, random) })
		}
	}
	load.Wait()
	whole()
	breaks.Wait()
	for i, h := range histories {
		h.end(ctx, rand.New(rand.NewPCG(x.seed, uint64(i))))
		h.check()
	}
	if ctx.Err() != nil {
		x.problem("the trial took longer than %s", loadBound)
	}
	if x.counts["histories with an order"] < linearSessions/2 {
		x.problem("too few histories could be checked within %s each", checkBound)
	}
}

// check looks for an order that explains a history.
func (h *history) check() {
	h.x.t.Helper()
	result, info := porcupine.CheckOperationsVerbose(sessionModel(h.complete()), h.operations, checkBound)
	switch result {
	case porcupine.Ok:
		h.x.count("histories with an order")
		return
	case porcupine.Unknown: // the machine is too busy: this says nothing about the history
		h.x.count("histories that took too long to check")
		return
	}
	h.x.problem(
		"session %s: the history of %d actions is %s: no order of them explains all answers.\n%s",
		h.session,
		len(h.operations),
		result,
		h.told(info),
	)
}

// complete adds to the actions what only later ones have shown: which messages the cancels
// meant, and by when a post of unknown outcome had happened, if it did. It returns the final
// positions of the messages.
func (h *history) complete() map[int]int {
	first := map[int]int64{} // when a message had been read
	for _, o := range h.operations {
		for _, number := range o.Output.(shown).posts {
			if at, seen := first[number]; !seen || o.Return < at {
				first[number] = o.Return
			}
		}
	}
	var known []porcupine.Operation
	for _, o := range h.operations {
		out := o.Output.(shown)
		switch o.Input.(action).kind {
		case actCancel:
			if !out.message.IsZero() {
				out.post = h.numbers[out.message]
				out.unknown = out.post == 0 // it left the queue before anybody had seen it
			}
		case actPost:
			at, seen := first[out.post]
			if out.unknown && !seen {
				continue // it never happened, or left the queue unseen: no response depends on it
			}
			if out.unknown {
				o.Return = at
			}
		}
		o.Output = out
		known = append(known, o)
	}
	h.operations = known
	stay := map[int]int{}
	for place, number := range known[len(known)-1].Output.(shown).posts {
		stay[number] = place
	}
	return stay
}

// told prints the end of the longest order that the checker found, and the actions concurrent
// with it.
func (h *history) told(info porcupine.LinearizationInfo) string {
	const most = 12
	var longest []porcupine.Operation
	for _, order := range info.PartialLinearizationsOperations()[0] {
		if len(order) > len(longest) {
			longest = order
		}
	}
	var text strings.Builder
	tell := func(operations []porcupine.Operation) {
		for _, o := range operations[max(0, len(operations)-most):] {
			fmt.Fprintf(
				&text,
				"  client %d, %6.3f to %6.3f s: %+v\n",
				o.ClientId,
				float64(o.Call)/1e9,
				float64(o.Return)/1e9,
				describe(o.Input, o.Output),
			)
		}
	}
	text.WriteString("in order:\n")
	tell(longest)
	left := slices.DeleteFunc(slices.Clone(h.operations), func(o porcupine.Operation) bool {
		return slices.ContainsFunc(
			longest,
			func(placed porcupine.Operation) bool { return placed.ClientId == o.ClientId && placed.Call == o.Call },
		)
	})
	slices.SortFunc(
		left,
		func(a, b porcupine.Operation) int { return int(b.Call - a.Call) },
	) // the earliest last, to be printed
	text.WriteString("and not the next of:\n")
	tell(left)
	return text.String()
}

// act is one client: it posts, reads and cancels, through any process.
func (h *history) act(ctx context.Context, number int, random *rand.Rand) {
	for range linearActions {
		if !pause(ctx, time.Duration(random.IntN(250))*time.Millisecond) {
			return
		}
		switch choice := random.IntN(100); {
		case choice < 40:
			h.post(ctx, number, random)
		case choice < 88:
			h.read(ctx, number, random)
		default:
			h.cancel(ctx, number, random)
		}
	}
}

// did notes an action. One with an unknown outcome counts as never returned.
func (h *history) did(client int, in action, out shown, called time.Time) {
	operation := porcupine.Operation{
		ClientId: client,
		Input:    in,
		Output:   out,
		Call:     called.Sub(h.began).Nanoseconds(),
		Return:   time.Since(h.began).Nanoseconds(),
	}
	if out.unknown {
		operation.Return = loadBound.Nanoseconds()
		h.x.count("actions of unknown outcome")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.x.count(string(in.kind) + "s")
	h.x.done.Add(1)
	h.operations = append(h.operations, operation)
}

// post posts with a key. Half of the clients retry until they know the outcome, the others
// give up at the first doubt.
func (h *history) post(ctx context.Context, number int, random *rand.Rand) {
	s := script{
		N:      int(h.x.next.Add(1)),
		Steps:  1 + random.IntN(2),
		Words:  5 + random.IntN(15),
		PaceMS: random.IntN(12),
		Times:  1,
	}
	key := fmt.Sprintf("n%d", s.N)
	called, tries := time.Now(), 0
	var posted client.Posted
	once := func(ctx context.Context, c *client.Client) (err error) {
		tries++
		posted, err = c.Post(ctx, h.session, client.UserMessage(s.String()), client.IdempotencyKey(key))
		return err
	}
	var err error
	if number%2 == 0 {
		err = h.x.ask(ctx, h.account, random, once)
	} else {
		try, cancel := context.WithTimeout(ctx, tryBound)
		err = once(try, h.account.clients[random.IntN(len(h.account.clients))])
		cancel()
	}
	if err != nil {
		h.lost(number, action{kind: actPost}, shown{unknown: true, post: s.N}, called, err)
		return
	}
	h.name(posted.Message.ID, s.N)
	out := shown{post: s.N, message: posted.Message.ID, sequence: posted.Message.Sequence, later: tries > 1}
	h.did(number, action{kind: actPost}, out, called)
}

// lost notes an action without a response, unless it got a refusal that such a client must
// never get.
func (h *history) lost(number int, in action, out shown, called time.Time, err error) {
	var known *parley.Error
	if errors.As(err, &known) && known.Code != parley.CodeUnavailable {
		h.x.problem("a %s in session %s: %v", in.kind, h.session, err)
		return
	}
	h.did(number, in, out, called)
}

// end reads until a process responds: the end of every history is known.
func (h *history) end(ctx context.Context, random *rand.Rand) {
	for !h.read(ctx, linearClients, random) && pause(ctx, 100*time.Millisecond) {
	}
}

// read reads the whole session, if the process responds.
func (h *history) read(ctx context.Context, number int, random *rand.Rand) bool {
	ctx, cancel := context.WithTimeout(ctx, tryBound)
	defer cancel()
	called := time.Now()
	page, err := h.account.clients[random.IntN(len(h.account.clients))].Messages(
		ctx,
		h.session,
		client.MessagesQuery{Limit: 1000},
	)
	if err != nil || page.Next != "" {
		return false // it reveals nothing
	}
	var out shown
	for _, m := range page.Data {
		if m.Status == parley.MessageCancelled && m.Sequence == 0 {
			continue
		}
		if m.Sequence > 0 {
			if out.record = append(out.record, m.ID); m.Sequence != int64(len(out.record)) {
				h.x.problem("session %s was read with message %d at place %d", h.session, m.Sequence, len(out.record))
			}
		}
		if m.Role != parley.RoleUser {
			continue
		}
		text, _ := textOf(m.Content)
		var s script
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			h.x.problem("session %s was read with the message %q", h.session, text)
		}
		out.posts = append(out.posts, s.N)
		if m.Sequence > 0 {
			out.users++
		}
		h.name(m.ID, s.N)
	}
	h.did(number, action{kind: actRead}, out, called)
	return true
}

// cancel stops the running turn, sometimes with the whole queue.
func (h *history) cancel(ctx context.Context, number int, random *rand.Rand) {
	in := action{kind: actCancel, queued: random.IntN(2) == 0}
	ctx, cancel := context.WithTimeout(ctx, tryBound)
	defer cancel()
	called := time.Now()
	got, err := h.account.clients[random.IntN(len(h.account.clients))].CancelTurn(
		ctx,
		h.session,
		client.CancelInput{Queued: in.queued},
	)
	switch parley.ErrorCode(err) {
	case "":
		h.did(number, in, shown{message: got.Turn.TriggerMessageID}, called)
	case parley.CodeConflict, parley.CodeNothingToCancel:
		h.did(number, in, shown{}, called)
	default:
		h.lost(number, in, shown{unknown: true}, called, err)
	}
}

// name remembers a message's number.
func (h *history) name(id parley.ID, number int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.numbers[id] = number
}
