package main

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.org/parley"
	"example.org/parley/client"
)

// This file finds what the words of a command refer to: an id, the beginning of one, "last", or a name.

const (
	lastWord      = "last" // the session with the last activity, the newest turn, …
	shortestID    = 6      // digits that begin an id
	sessionsAsked = 20     // with the last activity: whose messages, turns, calls and loops have short names
	rowsAsked     = 1_000  // of one list
	namesTold     = 8      // in an error
)

// referent is something that a word may refer to.
type referent struct {
	id    parley.ID
	names []string // that also refer to it
	says  string   // for completion
}

// referents returns what exists of a kind, which is named as in lines of use, newest first; false for a kind whose ids
// have no short form.
func referents(
	ctx context.Context,
	server *client.Client,
	kind string,
	begins string,
) (iter.Seq2[referent, error], bool) {
	switch kind {
	case "AGENT":
		return each(server.AllAgents(ctx, client.AgentsQuery{Limit: parley.MaxPage, Status: "any", Order: "desc"}),
			func(a *parley.Agent) referent { return referent{a.ID, []string{a.Slug}, a.Name} }), true
	case "SESSION", "READER":
		return sessionsOf(ctx, server, begins), true
	case "PROJECT":
		return each(server.AllProjects(ctx, client.ProjectsQuery{Limit: parley.MaxPage}),
			func(p *parley.Project) referent { return referent{p.ID, []string{p.Name, p.Path}, p.Name} }), true
	case "FILE":
		return each(server.AllFiles(ctx, client.FilesQuery{Limit: parley.MaxPage}),
			func(f *parley.File) referent { return referent{f.ID, nil, f.Name} }), true
	case "APPROVAL":
		return each(server.AllApprovals(ctx, client.ApprovalsQuery{Limit: parley.MaxPage}),
			func(a *parley.Approval) referent { return referent{a.ID, nil, a.ToolName} }), true
	case "KEY":
		return page(server.Keys(ctx))(
			func(k *parley.Key) referent { return referent{k.ID, []string{k.Name}, k.Name} }), true
	case "SIGN_IN":
		return page(server.SignIns(ctx))(
			func(s *parley.SignIn) referent { return referent{s.ID, nil, s.PrincipalName} }), true
	case "MESSAGE":
		return inSessions(ctx, server, func(id parley.ID) iter.Seq2[referent, error] {
			return each(server.AllMessages(ctx, id, client.MessagesQuery{Limit: parley.MaxPage, Order: "desc"}),
				func(m *parley.Message) referent { return referent{m.ID, nil, messageText(m)} })
		}), true
	case "TURN":
		return inSessions(ctx, server, func(id parley.ID) iter.Seq2[referent, error] {
			return each(server.AllTurns(ctx, id, client.TurnsQuery{Limit: parley.MaxPage}),
				func(t *parley.Turn) referent { return referent{t.ID, nil, string(t.Status)} })
		}), true
	case "CALL":
		return inSessions(ctx, server, func(id parley.ID) iter.Seq2[referent, error] {
			return each(server.AllCalls(ctx, id, client.CallsQuery{Limit: parley.MaxPage}),
				func(c *parley.Call) referent { return referent{c.ID, nil, string(c.Model)} })
		}), true
	case "LOOP":
		return inSessions(ctx, server, func(id parley.ID) iter.Seq2[referent, error] {
			return each(server.AllLoops(ctx, id, client.LoopsQuery{Limit: parley.MaxPage}),
				func(l *parley.Loop) referent { return referent{l.ID, nil, loopPrompt(l)} })
		}), true
	}
	return nil, false
}

// each ranges over the referents in a list.
func each[T any](rows iter.Seq2[T, error], refer func(*T) referent) iter.Seq2[referent, error] {
	return func(yield func(referent, error) bool) {
		n := 0
		for row, err := range rows {
			if err != nil {
				yield(referent{}, err)
				return
			}
			if n++; n > rowsAsked || !yield(refer(&row), nil) {
				return
			}
		}
	}
}

// page is each for a list that has a single page.
func page[T any](got client.Page[T], err error) func(func(*T) referent) iter.Seq2[referent, error] {
	return func(refer func(*T) referent) iter.Seq2[referent, error] {
		return each(func(yield func(T, error) bool) {
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range got.Data {
				if !yield(row, nil) {
					return
				}
			}
		}, refer)
	}
}

// clockSkew is how far the time in an id and the time at which the database wrote its row may be apart.
const clockSkew = 10 * time.Minute

// sessionsOf ranges over sessions, last activity first, archived ones too. The beginning of an id bounds the time at
// which its session was made.
func sessionsOf(ctx context.Context, server *client.Client, begins string) iter.Seq2[referent, error] {
	query := client.SessionsQuery{Limit: parley.MaxPage}
	if from, to, ok := idTimes(begins); ok {
		query.CreatedFrom, query.CreatedTo = parley.TimeOf(from.Add(-clockSkew)), parley.TimeOf(to.Add(clockSkew))
		query.Archived = "any"
	}
	return each(server.AllSessions(ctx, query),
		func(s *parley.Session) referent { return referent{s.ID, nil, s.Title} })
}

// timeDigits is how many hexadecimal digits of an id are its time in milliseconds.
const timeDigits = 12

// lastYear is the first one that times in JSON cannot be in.
const lastYear = 9999

// idTimes are the times of the ids that begin with some digits.
func idTimes(begins string) (from, to time.Time, ok bool) {
	digits := strings.ReplaceAll(begins, "-", "")
	digits = digits[:min(len(digits), timeDigits)]
	if len(digits) < shortestID {
		return from, to, false
	}
	low, err := strconv.ParseInt(digits+strings.Repeat("0", timeDigits-len(digits)), 16, 64)
	if err != nil {
		return from, to, false
	}
	high := low | (1<<(4*(timeDigits-len(digits))) - 1)
	from, to = time.UnixMilli(low), time.UnixMilli(high)
	return from, to, to.Year() < lastYear
}

// inSessions ranges over what is in the sessions with the last activity.
func inSessions(
	ctx context.Context,
	server *client.Client,
	of func(session parley.ID) iter.Seq2[referent, error],
) iter.Seq2[referent, error] {
	return func(yield func(referent, error) bool) {
		sessions, err := server.Sessions(ctx, client.SessionsQuery{Limit: sessionsAsked})
		if err != nil {
			yield(referent{}, err)
			return
		}
		for i := range sessions.Data {
			for found, err := range of(sessions.Data[i].ID) {
				if !yield(found, err) {
					return
				}
			}
		}
	}
}

// idDigits reports whether a word may begin an id.
func idDigits(word string) bool {
	return len(word) >= shortestID && strings.Trim(strings.ToLower(word), "0123456789abcdef-") == ""
}

// refer finds what a word refers to.
func refer(ctx context.Context, server *client.Client, kind, word string) (parley.ID, error) {
	id, err := parley.ParseID(word)
	if err == nil {
		return id, nil
	}
	if kind == "ID" {
		kind = "FILE"
	}
	all, ok := referents(ctx, server, kind, word)
	if !ok {
		return id, err
	}
	var found []referent
	for one, failed := range all {
		switch {
		case failed != nil:
			return id, failed
		case word == lastWord, slices.Contains(one.names, word):
			return one.id, nil
		case idDigits(word) && strings.HasPrefix(one.id.String(), strings.ToLower(word)):
			found = append(found, one)
		}
	}
	what := strings.ToLower(strings.ReplaceAll(kind, "_", "-"))
	switch {
	case len(found) == 1:
		return found[0].id, nil
	case len(found) > 1:
		var ids []string
		for _, one := range found[:min(len(found), namesTold)] {
			ids = append(ids, one.id.String())
		}
		return id, parley.Errorf(parley.CodeInvalid, "%d %ss have ids that begin with %q; write more of one: %s",
			len(found), what, word, strings.Join(ids, ", "))
	case word == lastWord:
		return id, parley.Errorf(parley.CodeNotFound, "there is no %s yet", what)
	case idDigits(word):
		return id, parley.Errorf(parley.CodeNotFound, "no %s has an id that begins with %q", what, word)
	}
	named := ""
	if kind == "PROJECT" || kind == "KEY" {
		named = "a name, "
	}
	return id, parley.Errorf(parley.CodeInvalid,
		"%q is not an id of %s; write %san id, at least its first %d digits, or %s",
		parley.Clip(word, maxLine), withArticle(what), named, shortestID, lastWord)
}

func withArticle(noun string) string {
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// referAgent is refer for agents, whose slugs the server knows by itself.
func referAgent(ctx context.Context, server *client.Client, word string) (string, error) {
	agent, err := server.Agent(ctx, word)
	if err == nil {
		return agent.ID.String(), nil
	}
	if parley.ErrorCode(err) != parley.CodeNotFound {
		return word, err
	}
	if word == lastWord || idDigits(word) {
		if id, err := refer(ctx, server, "AGENT", word); err == nil {
			return id.String(), nil
		}
	}
	return word, noAgent(ctx, server, word)
}

// noAgent says that an agent does not exist, and which do.
func noAgent(ctx context.Context, server *client.Client, word string) error {
	agents, err := server.Agents(ctx, client.AgentsQuery{Limit: namesTold})
	if err != nil {
		return err
	}
	var slugs []string
	for i := range agents.Data {
		slugs = append(slugs, agents.Data[i].Slug)
	}
	there := "there are none yet: create one with parley agents create NAME"
	if len(slugs) > 0 {
		there = "the agents are: " + strings.Join(slugs, ", ")
	}
	if agents.Next != "" {
		there += ", … (parley agents list)"
	}
	return parley.Errorf(parley.CodeNotFound, "there is no agent %q; %s", parley.Clip(word, maxLine), there)
}

// mention is a flag that refers to something. Short forms are found when the command asks the server.
type mention struct {
	kind string
	text string
	set  func(parley.ID)
	word func(string) // instead of set, for agents, which may have slugs
}

var _ pflag.Value = (*mention)(nil)

func (r *mention) String() string { return r.text }
func (r *mention) Type() string {
	if r.word != nil {
		return "agent"
	}
	return "id"
}

func (r *mention) Set(text string) error {
	r.text = text
	if r.word != nil {
		r.word(text)
		return nil
	}
	id, err := idIfGiven(text)
	if err != nil && r.kind == "" {
		return err
	}
	r.set(id)
	return nil
}

// find replaces a short form by the id.
func (r *mention) find(ctx context.Context, server *client.Client) error {
	if r.text == "" {
		return nil
	}
	if r.word != nil {
		found, err := referAgent(ctx, server, r.text)
		r.word(found)
		return err
	}
	if r.kind == "" {
		return nil
	}
	id, err := refer(ctx, server, r.kind, r.text)
	r.set(id)
	return err
}

// kindOfFlag is the kind of thing that a flag refers to, "" if its ids have no short form.
func kindOfFlag(name string) string {
	switch name {
	case "session", "parent", "with-session":
		return "SESSION"
	case "message", "parent-message", "at", "before":
		return "MESSAGE"
	case "with":
		return "CALL"
	case "project", "turn", "agent", "file":
		return strings.ToUpper(name)
	}
	return ""
}

// addReference adds a flag that is an id.
func addReference(command *cobra.Command, to *parley.ID, name, usage string) {
	command.Flags().Var(&mention{kind: kindOfFlag(name), set: func(id parley.ID) { *to = id }}, name, usage)
}

// addAgentReference adds a flag that is an agent's slug or id.
func addAgentReference(command *cobra.Command, to *string, name, usage string) {
	command.Flags().Var(&mention{word: func(word string) { *to = word }}, name, usage)
}

// addChangedID adds a flag to a command that changes a patch's id; "" takes it away.
func addChangedID(command *cobra.Command, to *parley.Change[parley.ID], name, usage string) {
	command.Flags().Var(
		&mention{kind: kindOfFlag(name), set: func(id parley.ID) { *to = changeTo(id) }}, name, usage)
}

// mentions is a repeatable mention; commas also separate what it refers to.
type mentions struct {
	kind   string
	texts  []string
	ids    *[]parley.ID
	agents *[]string // instead of ids, for agents, which may have slugs
}

var _ pflag.Value = (*mentions)(nil)

func (r *mentions) String() string { return strings.Join(r.texts, ",") }
func (r *mentions) Type() string {
	if r.agents != nil {
		return "agents"
	}
	return "ids"
}

func (r *mentions) Set(text string) error {
	for one := range strings.SplitSeq(text, ",") {
		r.texts = append(r.texts, one)
		if r.agents != nil {
			*r.agents = append(*r.agents, one)
			continue
		}
		id, err := idIfGiven(one)
		if err != nil && r.kind == "" {
			return err
		}
		*r.ids = append(*r.ids, id)
	}
	return nil
}

// find replaces short forms by ids.
func (r *mentions) find(ctx context.Context, server *client.Client) (err error) {
	for i, text := range r.texts {
		switch {
		case r.agents != nil:
			(*r.agents)[i], err = referAgent(ctx, server, text)
		case r.kind != "":
			(*r.ids)[i], err = refer(ctx, server, r.kind, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addReferences adds a repeatable flag whose values are ids.
func addReferences(command *cobra.Command, to *[]parley.ID, name, usage string) {
	command.Flags().Var(&mentions{kind: kindOfFlag(name), ids: to}, name, usage)
}

// addAgentReferences adds a repeatable flag whose values are agents' slugs or ids.
func addAgentReferences(command *cobra.Command, to *[]string, name, usage string) {
	command.Flags().Var(&mentions{agents: to}, name, usage)
}

// referring is a flag that refers to something.
type referring interface {
	find(ctx context.Context, server *client.Client) error
}

// findReferences finds what a command's flags refer to.
func findReferences(ctx context.Context, server *client.Client, command *cobra.Command) (err error) {
	command.Flags().Visit(func(flag *pflag.Flag) {
		if one, ok := flag.Value.(referring); ok && err == nil {
			if err = one.find(ctx, server); err != nil {
				err = inFlag(flag.Name, err)
			}
		}
	})
	return err
}
