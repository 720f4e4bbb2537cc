package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"example.org/parley"
	"example.org/parley/client"
)

// settleBound is how long the end of a turn may take: leases expire, processes and the
// database restart, and the queue before it is processed, on a machine that may be busy.
const settleBound = 4 * time.Minute

// post is a message that was admitted: a process answered 2xx.
type post struct {
	script  script
	message parley.ID
	turn    parley.ID
	during  parley.During
}

// driver plays a person in one session: it posts, waits for answers, steers a running turn,
// changes its mind. It also folds the stream that it watches.
type driver struct {
	watcher
	posts   []post
	cancels int // requested, interrupts included
}

func newDriver(x *trial, number int) *driver {
	random := rand.New(rand.NewPCG(x.seed, uint64(number)))
	return &driver{watcher: watcher{x: x, account: x.accounts[number%len(x.accounts)], random: random, fold: newFold()}}
}

// open creates the driver's session; its key makes that safe to repeat.
func (d *driver) open(ctx context.Context, number int) error {
	return d.x.ask(ctx, d.account, d.random, func(ctx context.Context, c *client.Client) error {
		session, err := c.CreateSession(
			ctx,
			client.SessionInput{AgentID: "trial", Key: fmt.Sprintf("session-%d", number)},
		)
		d.session = session.ID
		return err
	})
}

// drive posts a number of messages, as people do.
func (d *driver) drive(ctx context.Context, messages int, think time.Duration) {
	for len(d.posts) < messages && ctx.Err() == nil {
		if !pause(ctx, time.Duration(d.random.Int64N(int64(2*think)))) {
			return
		}
		first := len(d.posts)
		switch choice := d.random.IntN(100); {
		case choice < 45:
			d.post(ctx, "")
		case choice < 60:
			d.stream(ctx)
		case choice < 74:
			d.post(ctx, "")
			d.post(ctx, "")
		case choice < 86:
			d.post(ctx, "")
			d.hesitate(ctx)
			d.post(ctx, parley.DuringSteer)
		case choice < 96:
			d.post(ctx, "")
			d.hesitate(ctx)
			d.cancel(ctx)
		default:
			d.post(ctx, "")
			d.hesitate(ctx)
			d.cancels++
			d.post(ctx, parley.DuringInterrupt)
		}
		for _, p := range d.posts[first:] {
			d.follow(ctx, p.turn)
		}
	}
}

func (d *driver) hesitate(ctx context.Context) {
	pause(ctx, time.Duration(d.random.IntN(400))*time.Millisecond)
}

// script makes up the next turn.
func (d *driver) script() script {
	s := script{
		N: int(
			d.x.next.Add(1),
		),
		Steps:  1 + d.random.IntN(3),
		Words:  5 + d.random.IntN(d.x.words-5),
		PaceMS: d.random.IntN(12),
		Calls:  d.random.IntN(3),
		RestMS: d.random.IntN(40),
		Times:  d.random.IntN(2),
		Asks:   d.random.IntN(6) / 5,
	}
	if s.Calls+s.Times+s.Asks == 0 {
		s.Times = 1
	}
	return s
}

// post admits one message.
func (d *driver) post(ctx context.Context, during parley.During) {
	s := d.script()
	input := client.UserMessage(s.String())
	input.During = during
	key := fmt.Sprintf("n%d", s.N)
	var posted client.Posted
	err := d.x.ask(ctx, d.account, d.random, func(ctx context.Context, c *client.Client) (err error) {
		posted, err = c.Post(ctx, d.session, input, client.IdempotencyKey(key))
		return err
	})
	if err != nil {
		d.refused(ctx, "posting", err)
		return
	}
	d.posts = append(d.posts, post{script: s, message: posted.Message.ID, turn: posted.Message.TurnID, during: during})
	d.x.count("messages admitted")
	if d.random.IntN(10) == 0 {
		d.repeat(ctx, input, key, posted.Message.ID)
	}
}

// repeat sends a message again, like a client that has not got the response.
func (d *driver) repeat(ctx context.Context, input client.MessageInput, key string, first parley.ID) {
	var again client.Posted
	err := d.x.ask(ctx, d.account, d.random, func(ctx context.Context, c *client.Client) (err error) {
		again, err = c.Post(ctx, d.session, input, client.IdempotencyKey(key))
		return err
	})
	switch {
	case err != nil:
		d.refused(ctx, "posting again", err)
	case again.Message.ID != first:
		d.x.problem("the key %s made the messages %s and %s", key, first, again.Message.ID)
	}
}

// stream admits a message and reads its turn from the same response. If that breaks, it asks
// for the turn by the key, and follows it elsewhere.
func (d *driver) stream(ctx context.Context) {
	s := d.script()
	key, input := fmt.Sprintf("n%d", s.N), client.UserMessage(s.String())
	var turn parley.ID
	begun := false
	err := d.x.ask(ctx, d.account, d.random, func(ctx context.Context, c *client.Client) error {
		for frame, err := range c.PostMessageStream(ctx, d.session, input, client.IdempotencyKey(key)) {
			if err != nil && begun {
				d.x.count("answers broken off")
				return nil
			} else if err != nil {
				return err
			}
			begun = true
			if frame.Type.EndsTurn() {
				turn = endOf(frame).ID
				return nil
			}
		}
		return nil
	})
	if err == nil && turn.IsZero() {
		var posted client.Posted
		err = d.x.ask(ctx, d.account, d.random, func(ctx context.Context, c *client.Client) (err error) {
			posted, err = c.Post(ctx, d.session, input, client.IdempotencyKey(key))
			return err
		})
		turn = posted.Message.TurnID
	}
	if err != nil {
		d.refused(ctx, "streaming", err)
		return
	}
	d.posts = append(d.posts, post{script: s, turn: turn})
	d.x.count("messages admitted")
}

// cancel stops whatever runs; nothing running is a valid response too.
func (d *driver) cancel(ctx context.Context) {
	d.cancels++
	queued := d.random.IntN(2) == 0
	err := d.x.ask(ctx, d.account, d.random, func(ctx context.Context, c *client.Client) error {
		_, err := c.CancelTurn(ctx, d.session, client.CancelInput{Queued: queued})
		return err
	})
	switch parley.ErrorCode(err) {
	case parley.CodeConflict, parley.CodeNothingToCancel:
		d.x.count("cancels that came too late")
	case "":
		d.x.count("cancels")
	default:
		d.refused(ctx, "cancelling", err)
	}
}

// follow watches until a turn has ended, and answers its calls.
func (d *driver) follow(ctx context.Context, turn parley.ID) {
	bounded, cancel := context.WithTimeout(ctx, settleBound)
	defer cancel()
	for d.fold.ended[turn] == "" {
		if !d.until(bounded, func() bool { return d.fold.ended[turn] != "" || d.fold.waits }) {
			if ctx.Err() == nil && bounded.Err() != nil {
				d.x.problem("turn %s of session %s was not seen to end within %s", turn, d.session, settleBound)
			}
			return
		}
		if d.fold.waits {
			d.fold.waits = false // until it waits again
			d.answer(ctx)
		}
	}
	d.x.done.Add(1)
}

// answer posts the results that the session's turn waits for.
func (d *driver) answer(ctx context.Context) {
	d.hesitate(ctx)
	open := map[string]bool{}
	err := d.x.ask(ctx, d.account, d.random, func(ctx context.Context, c *client.Client) error {
		page, err := c.Messages(ctx, d.session, client.MessagesQuery{Limit: 1000, Tool: []string{"ask"}})
		clear(open)
		for _, m := range page.Data {
			open[m.ToolCallID] = m.Role == parley.RoleToolCall && m.Status == parley.MessageCompleted
		}
		return err
	})
	if err != nil {
		d.refused(ctx, "reading the open calls", err)
		return
	}
	for id, waits := range open {
		if !waits {
			continue
		}
		result := fmt.Sprintf(`{"role":"tool_result","tool_call_id":%q,"content":{"result":"yes","success":true}}`, id)
		err := d.x.ask(ctx, d.account, d.random, func(ctx context.Context, c *client.Client) error {
			return create(
				ctx,
				c.URL(),
				d.account.key,
				"/v1/sessions/"+d.session.String()+"/messages",
				"answer-"+id,
				result,
			)
		})
		switch parley.ErrorCode(err) {
		case "":
			d.x.count("tools answered by the client")
		case parley.CodeConflict: // a cancel or a steer came first
			d.x.count("answers of the client that came too late")
		default:
			d.refused(ctx, "answering a call", err)
		}
	}
}

// refused reports a response that a client like this one must never get.
func (d *driver) refused(ctx context.Context, what string, err error) {
	if ctx.Err() == nil {
		d.x.problem("%s in session %s: %v", what, d.session, err)
	}
}
