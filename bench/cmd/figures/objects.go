package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"example.org/parley/bench"
)

// The load of the objects: answers of 200 KB, a token every other millisecond.
const (
	objectTokens  = 10_000
	objectPace    = 2 * time.Millisecond
	objectStreams = 8
	shortTokens   = 100 // of the answers whose first text and patch are timed
	shortAnswers  = 10
)

// objectFigures measures what the patches of large objects cost beside the same bytes as plain text, for readers who
// get each token and for those who get them merged.
func objectFigures(ctx context.Context, l *lab, out io.Writer) error {
	for _, flush := range []string{"", "?flush_ms=0"} {
		if err := l.objects(ctx, out, flush); err != nil {
			return err
		}
	}
	return nil
}

// objectSide is what one kind of answer took.
type objectSide struct {
	cpu, first, patch []time.Duration
	highest           []int64
}

func (l *lab) objects(ctx context.Context, out io.Writer, flush string) error {
	var text, object, checked objectSide
	prose, large := bench.ProseModelName(objectTokens, objectPace), bench.ObjectModelName(objectTokens, objectPace)
	for range l.rounds {
		for _, side := range []struct {
			to            *objectSide
			model, output string
		}{{&text, prose, ""}, {&object, large, ""}, {&checked, large, `,"output":{"schema":{"type":"object"}}`}} {
			if err := l.object(ctx, side.to, side.model, side.output, flush); err != nil {
				return err
			}
		}
	}
	how, bound := "merged every 120 ms", "; bound 120 ms, the flush"
	if flush != "" {
		how, bound = "each token by itself", ""
	}
	perToken := func(s objectSide) time.Duration { return medianOf(s.cpu) / objectTokens }
	highest := func(s objectSide) float64 { return float64(medianOf(s.highest)) / mib }
	fmt.Fprintf(out, "CPU of the server per token of a 200 KB answer, %d streams, %s: text %v, object %v: %.2f×, of a "+
		"schema %v: %.2f× (bound 2×)\n", objectStreams, how, perToken(text), perToken(object),
		ratio(perToken(object), perToken(text)), perToken(checked), ratio(perToken(checked), perToken(text)))
	fmt.Fprintf(out, "  resident at the highest: text %.1f MB, object %.1f MB, of a schema %.1f MB\n", highest(text),
		highest(object), highest(checked))
	fmt.Fprintf(out, "  first text after %v, first patch after %v: %v later%s\n", medianOf(checked.first),
		medianOf(checked.patch), medianOf(checked.patch)-medianOf(checked.first), bound)
	return nil
}

// object streams answers of a model from a fresh server, and short ones to see when the first text and patch come.
func (l *lab) object(ctx context.Context, to *objectSide, model, output, flush string) error {
	server, err := l.start(ctx)
	if err != nil {
		return err
	}
	target, err := server.objects(ctx, "bench", model, output, flush)
	if err != nil {
		return err
	}
	took, err := measure(ctx, server.Process, target, objectStreams, objectStreams)
	if err != nil {
		return err
	}
	_, high, err := server.Memory()
	if err != nil {
		return err
	}
	to.cpu, to.highest = append(to.cpu, took.cpu), append(to.highest, high)
	if output == "" {
		return server.end()
	}
	short, err := server.objects(ctx, "short", bench.ObjectModelName(shortTokens, objectPace), output, flush)
	if err != nil {
		return err
	}
	for range shortAnswers {
		for first, into := range map[string]*[]time.Duration{"step.generating": &to.first, "object.patch": &to.patch} {
			short.First = []byte("event: " + first)
			samples, err := bench.Run(ctx, short, 1, 1)
			if err != nil {
				return err
			}
			*into = append(*into, samples[0].First)
		}
	}
	return server.end()
}

// objects makes an agent of a model, and returns it as a target of objectStreams clients.
func (p *parleyRun) objects(ctx context.Context, agent, model, output, flush string) (bench.Target, error) {
	body := fmt.Sprintf(`{"name":%q,"slug":%q,"model":"openai/%s","context_policy":{"kind":"single"}%s}`,
		agent, agent, model, output)
	if err := p.do(ctx, http.MethodPost, "/v1/agents", body, nil); err != nil {
		return bench.Target{}, err
	}
	target, err := p.turns(ctx, agent, objectStreams)
	posts := target.Request
	target.Request = func(client int) []byte {
		return bytes.Replace(posts(client), []byte("/messages "), []byte("/messages"+flush+" "), 1)
	}
	return target, err
}
