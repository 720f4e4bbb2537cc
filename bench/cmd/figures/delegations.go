package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"example.org/parley"
	"example.org/parley/bench"
)

// The comparison of a delegation with the turns that it consists of.
const (
	delegationTokens = 200
	delegationCount  = 100 // in each round
)

// delegationFigures compares a delegation and its answer with the three turns that they are, one with a tool and two
// plain ones: in background sessions, as they are, and in ordinary ones, whose turns need no claim. All are done one
// after the other, with nothing beside them. Each session is watched, so that its client knows when to go on.
func delegationFigures(ctx context.Context, l *lab, out io.Writer) error {
	for _, database := range []string{"SQLite", "PostgreSQL"} {
		var settings []string
		if database == "PostgreSQL" {
			url, err := l.database(ctx)
			if err != nil {
				return err
			}
			settings = append(settings, "PARLEY_DATABASE_URL="+url)
		}
		server, err := l.start(ctx, settings...)
		if err != nil {
			return err
		}
		got, err := l.delegations(ctx, server, database == "PostgreSQL")
		if err = errors.Join(err, server.end()); err != nil {
			return err
		}
		foreground, background, delegation := medians(got[0]), medians(got[1]), medians(got[2])
		fmt.Fprintf(
			out,
			"%s, CPU of a delegation and its answer %v, of a turn with a tool and two plain ones in the background "+
				"%v: %.2f× (bound 1.3×); in the foreground %v: %.2f×\n",
			database,
			delegation.cpu,
			background.cpu,
			ratio(delegation.cpu, background.cpu),
			foreground.cpu,
			ratio(delegation.cpu, foreground.cpu),
		)
		fmt.Fprintf(
			out,
			"%s, how long they take: %v, %v: %.2f×, %v: %.2f×\n",
			database,
			delegation.first.Round(time.Microsecond),
			background.first.Round(time.Microsecond),
			ratio(delegation.first, background.first),
			foreground.first.Round(time.Microsecond),
			ratio(delegation.first, foreground.first),
		)
	}
	return nil
}

// serverUser is a server together with its database.
type serverUser struct {
	*parleyRun
	lab *lab // nil: without PostgreSQL
}

func (u serverUser) CPU() (time.Duration, error) {
	own, err := u.parleyRun.CPU()
	if err != nil || u.lab == nil {
		return own, err
	}
	its, err := u.lab.postgresCPU()
	return own + its, err
}

// delegations measures turns in the foreground, turns in the background and delegations, interleaved. A load's first is
// how long one of them took.
func (l *lab) delegations(ctx context.Context, server *parleyRun, postgres bool) (loads [3][]load, err error) {
	user := serverUser{server, nil}
	if postgres {
		user.lab = l
	}
	foreground, err := server.plainTurns(ctx, parley.ModeForeground)
	if err != nil {
		return loads, err
	}
	background, err := server.plainTurns(ctx, parley.ModeBackground)
	if err != nil {
		return loads, err
	}
	team, err := server.teamOfTwo(ctx)
	if err != nil {
		return loads, err
	}
	for round := range l.rounds + 1 { // the first warms up
		for i, once := range []func(context.Context) error{foreground, background, team} {
			before, err := user.CPU()
			if err != nil {
				return loads, err
			}
			began := time.Now()
			for range delegationCount {
				if err := once(ctx); err != nil {
					return loads, err
				}
			}
			took := time.Since(began)
			after, err := user.CPU()
			if err != nil {
				return loads, err
			}
			if round > 0 {
				loads[i] = append(
					loads[i],
					load{cpu: (after - before) / delegationCount, first: took / delegationCount},
				)
			}
		}
	}
	return loads, nil
}

// plainTurns returns what runs a turn with a tool and two plain ones, each in a session of its own.
func (p *parleyRun) plainTurns(ctx context.Context, mode parley.Mode) (func(context.Context) error, error) {
	var sessions []string
	var watches []*ends
	for i, model := range []string{
		bench.ToolModelName(delegationTokens),
		bench.ModelName(delegationTokens, 0),
		bench.ModelName(delegationTokens, 0),
	} {
		slug := fmt.Sprintf("%s-%d", mode, i)
		if err := p.do(ctx, http.MethodPost, "/v1/agents", fmt.Sprintf(
			`{"name":%q,"slug":%q,"model":"openai/%s","context_policy":{"kind":"single"},"draw_knowledge":false,`+
				`"tools":["current_time"]}`,
			slug, slug, model,
		), nil); err != nil {
			return nil, err
		}
		var made struct{ ID string }
		method, path := http.MethodPut, "/foreground"
		if mode == parley.ModeBackground {
			method, path = http.MethodGet, "/background"
		}
		if err := p.do(ctx, method, "/v1/agents/"+slug+path, "", &made); err != nil {
			return nil, err
		}
		watch, err := p.watchEnds(ctx, made.ID)
		if err != nil {
			return nil, err
		}
		sessions, watches = append(sessions, made.ID), append(watches, watch)
	}
	return func(ctx context.Context) error {
		for i := range sessions {
			if err := p.say(ctx, sessions[i]); err != nil {
				return err
			}
			if err := watches[i].next(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// teamOfTwo returns what has a lead hand a task to its subordinate, and read the answer.
func (p *parleyRun) teamOfTwo(ctx context.Context) (func(context.Context) error, error) {
	const agent = `{"name":%q,"slug":%q,"model":"openai/%s","context_policy":{"kind":"single"},` +
		`"draw_knowledge":false,"lead_id":%s}`
	var lead struct{ ID string }
	if err := p.do(ctx, http.MethodPost, "/v1/agents", fmt.Sprintf(
		agent, "lead", "lead", bench.DelegateModelName(delegationTokens), "null",
	), &lead); err != nil {
		return nil, err
	}
	if err := p.do(ctx, http.MethodPost, "/v1/agents", fmt.Sprintf(
		agent, "works", "works", bench.ModelName(delegationTokens, 0), `"`+lead.ID+`"`,
	), nil); err != nil {
		return nil, err
	}
	var watches []*ends
	var at struct{ ID string }
	for _, slug := range []string{"works", "lead"} {
		if err := p.do(ctx, http.MethodGet, "/v1/agents/"+slug+"/background", "", &at); err != nil {
			return nil, err
		}
		watch, err := p.watchEnds(ctx, at.ID)
		if err != nil {
			return nil, err
		}
		watches = append(watches, watch)
	}
	return func(ctx context.Context) error {
		if err := p.say(ctx, at.ID); err != nil {
			return err
		}
		for _, watch := range []*ends{watches[1], watches[0], watches[1]} {
			if err := watch.next(); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// say posts a message, without waiting for its turn.
func (p *parleyRun) say(ctx context.Context, session string) error {
	return p.do(ctx, http.MethodPost, "/v1/sessions/"+session+"/messages",
		fmt.Sprintf(`{"role":"user","content":{"text":%q}}`, prompt), nil)
}

// ends is a watch of a session that knows when its turns end.
type ends struct {
	lines *bufio.Scanner
	body  io.Closer
}

// watchEnds watches a session until ctx ends or the server does.
func (p *parleyRun) watchEnds(ctx context.Context, session string) (*ends, error) {
	request, err := http.NewRequestWithContext(
		ctx, http.MethodGet, "http://"+p.addr+"/v1/sessions/"+session+"/events", http.NoBody,
	)
	if err != nil {
		return nil, err
	}
	response, err := p.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("watching: %s", response.Status), response.Body.Close())
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return &ends{lines, response.Body}, nil
}

// next waits for the end of a turn.
func (e *ends) next() error {
	for e.lines.Scan() {
		switch line := e.lines.Bytes(); {
		case bytes.Equal(line, []byte("event: session.completed")):
			return nil
		case bytes.Equal(line, []byte("event: session.failed")), bytes.Equal(line, []byte("event: session.cancelled")):
			return errors.Join(fmt.Errorf("a turn ended with %s", line), e.body.Close())
		}
	}
	return errors.Join(errors.New("a watch ended"), e.lines.Err(), e.body.Close())
}
