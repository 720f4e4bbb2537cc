package httpapi

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/store"
)

// This file holds the parameters and answers that several routes share.

func text(name, about string) parameter {
	return parameter{name: name, about: about, schema: huma.Schema{Type: huma.TypeString}}
}

func flag(name, about string) parameter {
	return parameter{name: name, about: about, schema: huma.Schema{Type: huma.TypeBoolean}}
}

func id(name, about string) parameter {
	return parameter{name: name, about: about, schema: huma.Schema{Type: huma.TypeString, Format: "uuid"}}
}

func choice(name, about string, values ...string) parameter {
	p := text(name, about)
	for _, value := range values {
		p.schema.Enum = append(p.schema.Enum, value)
	}
	return p
}

// listOf is a choice from one of the closed lists.
func listOf[T ~string](name, about string) parameter {
	return choice(name, about, closedLists()[reflect.TypeFor[T]()].values...)
}

func integer(least, most float64) huma.Schema {
	return huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most}
}

// maxFilterValues is how often a filter may be repeated.
const maxFilterValues = 16

// many makes a filter repeatable: its values are alternatives.
func many(p parameter) parameter {
	one, most := p.schema, maxFilterValues
	p.schema = huma.Schema{Type: huma.TypeArray, Items: &one, MaxItems: &most}
	p.repeats = true
	p.about = strings.TrimSuffix(p.about, ".") + "; repeatable."
	return p
}

func with(some []parameter, more ...parameter) []parameter {
	return append(append(make([]parameter, 0, len(some)+len(more)), some...), more...)
}

func paging() []parameter {
	return []parameter{
		{name: "limit", about: "Rows per page; 100 by default.", schema: integer(1, parley.MaxPage)},
		text("cursor", "The next of the previous page."),
		choice("order", "The direction; each list has its own default.", "asc", "desc"),
	}
}

// wholePaging is paging of a list that is answered whole unless a page is asked for.
func wholePaging() []parameter {
	return []parameter{
		{name: "limit", about: "Rows per page; all by default.", schema: integer(1, parley.MaxPage)},
		text("cursor", "The next of the previous page."),
	}
}

func sessionFilters() []parameter {
	return with(
		paging(),
		many(text("agent", "Only sessions of this agent, by id or slug.")),
		many(id("project", "Only sessions of this project.")),
		many(id("parent", "Only sessions opened by this one.")),
		many(text("type", "Only sessions of this type.")),
		many(text("feature", "Only sessions of this feature.")),
		many(text("task", "Only sessions of this task.")),
		many(listOf[parley.SessionKind]("kind", "Only sessions of this kind.")),
		many(listOf[parley.Mode]("mode", "Only sessions of this mode.")),
		many(listOf[parley.SessionStatus]("status", "Only sessions of this status.")),
		choice("archived", "false, the default, hides archived sessions; any shows all.", "false", "true", "any"),
		flag("pinned", "true lists only pinned sessions, false only others."),
		many(text("tag", "Only sessions with this tag.")),
		instant("created_from", "Only sessions created at this time or later."),
		instant("created_to", "Only sessions created before this time."),
	)
}

func messageFilters() []parameter {
	return with(
		paging(),
		choice(viewParameter, "How the record is shown; flat by default.", "flat", "user", "recent"),
		many(listOf[parley.Role]("role", "Only messages of this role.")),
		many(listOf[parley.MessageStatus]("status", "Only messages of this status.")),
		flag(internalParameter, "true lists only internal messages, false only others."),
		many(id("turn", "Only messages of this turn.")),
		many(parameter{name: "iteration", about: "Only messages of this iteration.", schema: integer(0, maxIteration)}),
		many(text("tool", "Only calls and results of this tool.")),
		many(text("agent_type", "Only messages of this agent type.")),
		parameter{
			name: "from_sequence",
			about: "The first page begins with this message of the record, in either order; later pages follow their " +
				"cursors.",
			schema: integer(1, maxSequence),
		},
	)
}

// maxSequence bounds a sequence: every client's numbers hold it exactly.
const maxSequence = 1<<53 - 1

func searchFilters() []parameter {
	return []parameter{
		text("q", "What to look for: words, \"a phrase\", -without."),
		many(listOf[parley.Role]("role", "Only messages of this role, and no titles.")),
		many(text("tool", "Only calls and results of this tool.")),
		many(text("agent", "Only sessions of this agent, by id or slug.")),
		many(id("project", "Only sessions of this project.")),
		id("session", "Only messages of this session, those that it shares as a fork included."),
		instant("created_from", "Only messages created at this time or later, and titles of sessions created then."),
		instant("created_to", "Only messages created before this time."),
		choice(
			"archived",
			"any, the default, searches all sessions, false leaves out archived ones, true searches only those.",
			"any",
			"false",
			"true",
		),
		{
			name:   "limit",
			about:  "Hits per page; 20 by default.",
			schema: integer(1, store.MaxHits),
		},
		text("cursor", "The next of the previous page."),
	}
}

// maxIteration bounds the filter of that name.
const maxIteration = 1 << 30

// briefParameter leaves out of a preview what grows with the window.
func briefParameter() parameter {
	return flag("brief", "true leaves out the request and its parts, which are as long as the window: request is "+
		"null, parts is empty. Counts, costs, outlook and left_out stay.")
}

func flushParameter() parameter {
	return parameter{
		name:   "flush_ms",
		about:  "Merge deltas for this many milliseconds; 120 by default, 0 sends each.",
		schema: integer(0, maxFlushMS),
	}
}

// TimeMark marks parameters that are a time or a date alone. No format of JSON Schema is both; generators of clients
// whose language has a type for times may use it.
const TimeMark = "x-time"

// timePattern is an RFC 3339 time, or a date alone.
const timePattern = `^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2}))?$`

// instant is a time, or a date alone.
func instant(name, about string) parameter {
	return parameter{
		name:  name,
		about: about + " A date alone, such as 2026-01-31, is the whole day in UTC.",
		schema: huma.Schema{
			Type: huma.TypeString, Pattern: timePattern, Examples: []any{"2026-01-31T12:00:00Z", "2026-01-31"},
			Extensions: map[string]any{TimeMark: true},
		},
	}
}

func idempotent() []parameter {
	return []parameter{
		{
			name: idempotencyHeader,
			about: "Makes the request safe to repeat: the same key and body return the first answer again; a " +
				"different body is 409.",
			schema: huma.Schema{Type: huma.TypeString},
		},
	}
}

// conditional is the header of changes that may depend on what their caller has read.
func conditional() []parameter {
	return []parameter{
		{
			name: "If-Match",
			about: "An ETag of an earlier answer to GET. If the present one differs, because something changed " +
				"meanwhile, the change is refused with 412. Without it, the last change wins.",
			schema: huma.Schema{Type: huma.TypeString},
		},
	}
}

func locationHeader() parameter {
	return parameter{
		name:   "Location",
		about:  "The path of what was created.",
		schema: huma.Schema{Type: huma.TypeString},
	}
}

func sequenceHeader() parameter {
	return parameter{
		name:   eventSequenceHeader,
		about:  "The session's last event before this post.",
		schema: huma.Schema{Type: huma.TypeInteger},
	}
}

func messageIDHeader() parameter {
	return parameter{
		name:   messageHeader,
		about:  "The message that was posted.",
		schema: huma.Schema{Type: huma.TypeString, Format: "uuid"},
	}
}

func acceptHeader() parameter {
	return parameter{
		name:   "Accept",
		about:  "application/json or text/event-stream.",
		schema: huma.Schema{Type: huma.TypeString},
	}
}

func conflicting() []parley.Code { return []parley.Code{parley.CodeConflict} }

func inputOf[T any](example string) *input { return &input{of: reflect.TypeFor[T](), example: example} }

func found[T any](about, example string) []answer {
	return []answer{{status: http.StatusOK, about: about, goType: reflect.TypeFor[T](), example: example}}
}

func created[T any](about, example string) []answer {
	return []answer{
		{
			status:  http.StatusCreated,
			about:   about,
			goType:  reflect.TypeFor[T](),
			example: example,
			headers: []parameter{locationHeader()},
		},
	}
}

func opened() []answer {
	headers := []parameter{locationHeader(), sequenceHeader(), messageIDHeader()}
	for i := range headers[1:] {
		headers[i+1].about = "With message: " + headers[i+1].about
	}
	return []answer{
		{
			status:  http.StatusCreated,
			about:   "The new session.",
			goType:  reflect.TypeFor[parley.Session](),
			example: sessionExample(),
			headers: headers,
		},
		{
			status:  http.StatusOK,
			about:   "The existing session with this key.",
			goType:  reflect.TypeFor[parley.Session](),
			example: sessionExample(),
			headers: headers,
		},
		turnFrames(headers...),
	}
}

// branched returns the answers of routes that make a fork.
func branched() []answer {
	answers := opened()
	return []answer{answers[0], answers[2]}
}

// resumed returns the answers of routes that continue a turn in a new one.
func resumed() []answer {
	return []answer{
		{
			status:  http.StatusCreated,
			about:   "The new turn.",
			goType:  reflect.TypeFor[parley.Turn](),
			example: turnExample,
			headers: []parameter{locationHeader(), sequenceHeader()},
		},
		turnFrames(sequenceHeader()),
	}
}

// turnFrames is the stream of a route that begins a turn.
func turnFrames(headers ...parameter) answer {
	return answer{
		status: http.StatusOK,
		about: "The turn's frames up to its terminal event: the data of each is one Event. If no turn begins, there " +
			"are no frames.",
		media:   eventStream,
		of:      frameSchemas(),
		example: eventExample,
		headers: headers,
	}
}

func nothing(about string) []answer {
	return []answer{{status: http.StatusNoContent, about: about}}
}

// page is the schema type of a list's answer.
type page[T any] struct {
	Data []T     `json:"data"`
	Next *string `json:"next" doc:"The cursor of the next page; null at the end."`
}

func listed[T any](example string) []answer {
	return found[page[T]]("A page.", `{"data":[`+example+`],"next":null}`)
}

func streamed() []answer {
	return []answer{
		{
			status:  http.StatusOK,
			about:   "Server-sent events: the data of each frame is one Event.",
			media:   eventStream,
			of:      frameSchemas(),
			example: eventExample,
		},
	}
}
