package engine

import (
	"context"
	"strconv"
	"strings"

	"github.com/mozillazg/go-unidecode"

	"example.org/parley"
	"example.org/parley/store"
)

// slugFrom derives a slug from a name of any script: "Übersetzer" gives "ubersetzer", "日本語" gives "ri-ben-yu". A name
// without letters or digits, such as "🚀", gives "agent".
func slugFrom(name string) string {
	slug := parley.Slugify(unidecode.Unidecode(name))
	if _, err := parley.ParseID(slug); err == nil { // a slug must not look like an id
		return "agent-" + slug
	}
	return slug
}

// slugAttempts bounds how often a derived slug is numbered anew when others take the number first.
const slugAttempts = 16

// createDerived stores an agent under a slug derived from its name, with a number if that one is taken. The bool
// reports an idempotent repeat.
func (e *Engine) createDerived(
	ctx context.Context,
	scope store.Scope,
	agent parley.Agent,
	idempotency store.Idempotency,
) (parley.Agent, bool, error) {
	base := agent.Slug
	for attempt := 1; ; attempt++ {
		made, repeat, err := e.store.CreateAgent(ctx, agent, idempotency)
		if parley.ErrorCode(err) != parley.CodeConflict || attempt == slugAttempts {
			return made, repeat, err
		}
		// A conflict is about the slug only if that is taken; otherwise the idempotency key was used before.
		taken, lookErr := e.slugTaken(ctx, scope, agent.Slug)
		if lookErr != nil {
			return parley.Agent{}, false, lookErr
		}
		if !taken {
			return made, repeat, err
		}
		if agent.Slug, err = e.freeSlug(ctx, scope, base); err != nil {
			return parley.Agent{}, false, err
		}
	}
}

// freeSlug finds a number for a slug that is taken, from 2 on: it doubles until a number is free, then halves the
// distance to the largest one known as taken. So it takes few looks however many agents have the same name.
func (e *Engine) freeSlug(ctx context.Context, scope store.Scope, base string) (string, error) {
	taken, free := 1, 2
	for {
		is, err := e.slugTaken(ctx, scope, numbered(base, free))
		if err != nil {
			return "", err
		}
		if !is {
			break
		}
		taken, free = free, free*2
	}
	for free-taken > 1 {
		middle := taken + (free-taken)/2
		is, err := e.slugTaken(ctx, scope, numbered(base, middle))
		if err != nil {
			return "", err
		}
		if is {
			taken = middle
		} else {
			free = middle
		}
	}
	return numbered(base, free), nil
}

func (e *Engine) slugTaken(ctx context.Context, scope store.Scope, slug string) (bool, error) {
	_, err := e.store.Agent(ctx, scope.WorkspaceID, slug)
	if parley.ErrorCode(err) == parley.CodeNotFound {
		return false, nil
	}
	return err == nil, err
}

// numbered appends a number to a slug, which gives way to it at its bound.
func numbered(slug string, number int) string {
	suffix := "-" + strconv.Itoa(number)
	if room := parley.MaxSlugBytes - len(suffix); len(slug) > room {
		slug = strings.TrimRight(slug[:room], "-")
	}
	return slug + suffix
}

// errBuiltinStays refuses to change the agent that sessions use by default so that they would no longer find it.
func errBuiltinStays(refused string) error {
	return parley.Errorf(
		parley.CodeConflict,
		"the agent %q is the default of every session that names none, so it cannot %s; its name, prompt, model and "+
			"tools can be changed",
		parley.BuiltinAgentSlug,
		refused,
	)
}
