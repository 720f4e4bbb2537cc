package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"example.org/parley/bench"
)

const seedClients = 64

// seed records messages in a session, without turns.
func (p *parleyRun) seed(ctx context.Context, session string, count int) error {
	var wg sync.WaitGroup
	failures := make(chan error, seedClients)
	for client := range seedClients {
		wg.Go(func() {
			for i := client; i < count; i += seedClients {
				body := fmt.Sprintf(
					`{"role":"user","respond":false,"content":{"text":"message %d: the quick brown fox jumps over `+
						`the lazy dog, and then it does so again"}}`,
					i,
				)
				if err := p.do(ctx, http.MethodPost, "/v1/sessions/"+session+"/messages", body, nil); err != nil {
					failures <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failures)
	var errs []error
	for err := range failures {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// pages reads a session's messages, newest first, and returns how long that took. It looks for the cursor and counts
// the rows without decoding: a client's work is not the server's.
func (p *parleyRun) pages(ctx context.Context, session string, limit, atMost int) (time.Duration, int, error) {
	began := time.Now()
	rows, cursor := 0, ""
	for n := 0; n < atMost; n++ {
		query := url.Values{"limit": {fmt.Sprint(limit)}, "order": {"desc"}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		raw, err := p.read(ctx, http.MethodGet, "/v1/sessions/"+session+"/messages?"+query.Encode(), "")
		if err != nil {
			return 0, 0, err
		}
		rows += bytes.Count(raw, []byte(`"sequence":`))
		at := bytes.LastIndex(raw, []byte(`"next":`))
		if at < 0 {
			return 0, 0, errors.New("a page has no next")
		}
		var next *string
		if err := json.Unmarshal(
			bytes.TrimSuffix(bytes.TrimSpace(raw[at+len(`"next":`):]), []byte("}")),
			&next,
		); err != nil {
			return 0, 0, err
		}
		if next == nil {
			break
		}
		cursor = *next
	}
	return time.Since(began), rows, nil
}

// longRow holds one session's measurements.
type longRow struct{ page, all, first time.Duration }

func (l *lab) longSession(ctx context.Context, server *parleyRun, session string, messages int) (longRow, error) {
	var page, all, first []time.Duration
	for range 20 * l.rounds {
		took, _, err := server.pages(ctx, session, 50, 1)
		if err != nil {
			return longRow{}, err
		}
		page = append(page, took)
	}
	for range l.rounds {
		took, rows, err := server.pages(ctx, session, 1000, messages/1000+2)
		if err != nil {
			return longRow{}, err
		}
		if rows < messages {
			return longRow{}, fmt.Errorf("%d of %d messages read", rows, messages)
		}
		all = append(all, took)
	}
	target := server.turnsIn([]string{session})
	for range 20 * l.rounds {
		samples, err := bench.Run(ctx, target, 1, 1)
		if err != nil {
			return longRow{}, err
		}
		first = append(first, samples[0].First)
	}
	return longRow{medianOf(page), medianOf(all), medianOf(first)}, nil
}

// longFigures measures sessions of 10,000 and of 100,000 messages against an empty one.
func longFigures(ctx context.Context, l *lab, out io.Writer) error {
	server, err := l.start(ctx)
	if err != nil {
		return err
	}
	if err := server.agent(ctx, "long", "openai/"+bench.ModelName(20, 0), `{"kind":"recent","limit":10}`); err != nil {
		return err
	}
	direct, err := bench.Run(ctx, completions("direct", l.provider.Line, bench.ModelName(20, 0)), 1, 100)
	if err != nil {
		return err
	}
	base := bench.Median(direct, func(s bench.Sample) time.Duration { return s.First })
	rows := map[int]longRow{}
	for _, messages := range []int{0, 10_000, 100_000} {
		session, err := server.session(ctx, "long")
		if err != nil {
			return err
		}
		if err := server.seed(ctx, session, messages); err != nil {
			return err
		}
		if rows[messages], err = l.longSession(ctx, server, session, messages); err != nil {
			return err
		}
		row := rows[messages]
		fmt.Fprintf(
			out,
			"%6d messages: page of 50 %v, all in pages of 1,000 %v, added time to first token under recent(10) %v\n",
			messages,
			row.page,
			row.all,
			row.first-base,
		)
	}
	ten, hundred, empty := rows[10_000], rows[100_000], rows[0]
	fmt.Fprintf(
		out,
		"10,000: page %v (bound 1 ms), all %v (bound 60 ms), added first token %.2f× an empty session's (bound 2×)\n",
		ten.page,
		ten.all,
		ratio(ten.first-base, empty.first-base),
	)
	fmt.Fprintf(
		out,
		"100,000 against 10,000: page %.2f×, added first token %.2f× (bound 1.5×)\n",
		ratio(hundred.page, ten.page),
		ratio(hundred.first-base, ten.first-base),
	)
	return server.end()
}
