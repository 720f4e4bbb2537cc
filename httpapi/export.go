package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"unicode"

	"example.org/parley"
	"example.org/parley/engine"
)

// exportPage is how many rows of an export are read at once.
const exportPage = parley.MaxPage

// longestExportName bounds the part of a file's name that is the session's title, in bytes.
const longestExportName = 80

// exportCSP keeps an export that a browser opens from running anything.
const exportCSP = "default-src 'none'; sandbox"

// export writes a session as one file, a page of rows at a time.
type export struct {
	*exchange
	api     *api
	session parley.Session
	out     patient
	failed  error // the first error of reading or writing; nothing is written after it
}

// sessionExport is the schema type of an export as JSON, which is written piece by piece.
type sessionExport struct {
	Session  parley.Session   `json:"session"`
	Agent    parley.Agent     `json:"agent"`
	Messages []parley.Message `json:"messages" doc:"Oldest first."`
	Turns    []parley.Turn    `json:"turns" doc:"Oldest first."`
	Calls    []parley.Call    `json:"calls" doc:"Oldest first."`

	ProviderData []exportedData `json:"provider_data" doc:"What providers sent beside messages, byte for byte. An import needs it for the messages' hashes."`
}

// exportedData is the provider's data of one message.
type exportedData struct {
	MessageID parley.ID `json:"message_id"`
	Data      string    `json:"data" doc:"In base64."`
}

// serveExport answers with the whole record as a file.
func serveExport(a *api, x *exchange) error {
	args := x.arguments()
	format := args.text("format")
	if args.err != nil {
		return args.err
	}
	if format != "" && format != "json" && format != "markdown" {
		return parley.InvalidField("format", "is not one of json, markdown")
	}
	id, err := a.session(x)
	if err != nil {
		return err
	}
	ctx := x.r.Context()
	session, leave, err := a.engine.ExportSession(ctx, x.principal, id)
	if err != nil {
		return err
	}
	defer leave()
	agent, err := a.engine.Agent(ctx, x.principal, session.AgentID.String())
	if err != nil {
		return err
	}
	e := &export{exchange: x, api: a, session: session, out: patient{x.w, http.NewResponseController(x.w)}}
	if format == "markdown" {
		e.begin("text/markdown; charset=utf-8", ".md")
		e.markdown(&agent)
	} else {
		e.begin("application/json", ".json")
		e.json(&agent)
	}
	if e.failed != nil { // half a file must not look like a whole one
		a.log.LogAttrs(
			ctx,
			slog.LevelWarn,
			"an export broke off",
			slog.String("session", id.String()),
			slog.String("error", e.failed.Error()),
		)
		panic(http.ErrAbortHandler)
	}
	return nil
}

func (e *export) begin(media, extension string) {
	header := e.w.Header()
	header.Set("Content-Type", media)
	header.Set(
		"Content-Disposition",
		mime.FormatMediaType("attachment", map[string]string{"filename": exportName(&e.session) + extension}),
	)
	header.Set("Content-Security-Policy", exportCSP)
	header.Set("Cache-Control", "no-store")
}

// exportName makes a file's name of the words in the session's title, or else of its id. Anything else in a title could
// hide what the file is: a character that reverses the order of others, for example.
func exportName(session *parley.Session) string {
	words := strings.FieldsFunc(session.Title, func(r rune) bool {
		return !unicode.In(r, unicode.Letter, unicode.Mark, unicode.Digit)
	})
	name := parley.Clip(strings.Join(words, "-"), longestExportName)
	if name == "" {
		return session.ID.String()
	}
	return name
}

func (e *export) write(text []byte) {
	if e.failed == nil {
		_, e.failed = e.out.Write(text)
	}
}

// json is {session, agent, messages, turns, calls, provider_data}, each list in its order.
func (e *export) json(agent *parley.Agent) {
	e.write(appendSession([]byte(`{"session":`), &e.session))
	e.write([]byte(`,"agent":`))
	e.write(encoded(e, agent))
	ctx, id := e.r.Context(), e.session.ID
	exportRows(e, `,"messages":[`, func(paging engine.Paging) (engine.Page[parley.Message], error) {
		return e.api.engine.Messages(ctx, e.principal, id, engine.MessageList{Paging: paging})
	}, appendMessage)
	exportRows(e, `],"turns":[`, func(paging engine.Paging) (engine.Page[parley.Turn], error) {
		return e.api.engine.Turns(ctx, e.principal, id, engine.TurnList{Paging: paging})
	}, func(to []byte, turn *parley.Turn) []byte { return append(to, encoded(e, turn)...) })
	exportRows(e, `],"calls":[`, func(paging engine.Paging) (engine.Page[parley.Call], error) {
		return e.api.engine.Calls(ctx, e.principal, id, engine.CallList{Paging: paging})
	}, func(to []byte, call *parley.Call) []byte { return append(to, encoded(e, call)...) })
	e.write([]byte(`],"provider_data":[`))
	e.providerData()
	e.write([]byte("]}\n"))
}

// providerData reads the messages again, which keeps nothing in memory meanwhile.
func (e *export) providerData() {
	ctx, first := e.r.Context(), true
	eachPage(e, func(paging engine.Paging) (engine.Page[parley.Message], error) {
		return e.api.engine.Messages(ctx, e.principal, e.session.ID, engine.MessageList{Paging: paging})
	}, func(rows []parley.Message) {
		for i := range rows {
			if len(rows[i].ProviderData) == 0 {
				continue
			}
			if !first {
				e.write([]byte(",\n"))
			}
			first = false
			e.write(encoded(e, &exportedData{
				MessageID: rows[i].ID, Data: base64.StdEncoding.EncodeToString(rows[i].ProviderData),
			}))
		}
	})
}

// encoded is a value's JSON; an error is the export's.
func encoded[T any](e *export, value *T) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil && e.failed == nil {
		e.failed = err
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

// exportRows writes a list after the text before it.
func exportRows[Row any](
	e *export,
	before string,
	read func(engine.Paging) (engine.Page[Row], error),
	row func([]byte, *Row) []byte,
) {
	e.write([]byte(before))
	first := true
	eachPage(e, read, func(rows []Row) {
		var out []byte
		for i := range rows {
			if !first {
				out = append(out, ',', '\n')
			}
			first = false
			out = row(out, &rows[i])
		}
		e.write(out)
	})
}

// eachPage visits the pages of a list, oldest row first.
func eachPage[Row any](e *export, read func(engine.Paging) (engine.Page[Row], error), visit func([]Row)) {
	paging := engine.Paging{Order: engine.Ascending, Limit: exportPage}
	for e.failed == nil {
		rows, err := read(paging)
		if err != nil {
			e.failed = err
			return
		}
		visit(rows.Data)
		if rows.Next == nil {
			return
		}
		paging.Cursor = *rows.Next
	}
}
