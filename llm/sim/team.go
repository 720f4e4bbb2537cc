package sim

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.org/parley"
	"example.org/parley/model"
)

// teammate plays an agent of a team. It reads its position from the tools that it is offered, and its habits from its
// system prompt; what it has done so far stands in the request.
//
// A lead hands each piece of work to all of its team. When the last answer has come, it puts a briefing into the inbox
// that quotes each answer and cites it, or answers its own lead. Everybody else answers with made-up findings. An agent
// whose prompt says "ask your lead" asks before it begins, "report to your lead" has it tell what it begins with, and
// "ask the person you work for" has a lead without a lead ask once.
type teammate struct{}

// teamPace is the time before each word: people want to watch a team, and a day's work takes seconds.
const teamPace = 30 * time.Millisecond

// The tools that say which position an agent has, and the phrases that give it a habit.
const (
	toolDelegate = "delegate_to_agent"
	toolAsk      = "request_input"
	toolReport   = "report_to_lead"
	toolBrief    = "create_inbox_item"

	habitAsks     = "ask your lead"
	habitReports  = "report to your lead"
	habitAsksUser = "ask the person you work for"
)

// subjectBytes and quotedBytes bound what one agent repeats of what another wrote.
const (
	subjectBytes = 160
	quotedBytes  = 240
)

// received is a message to an agent, taken apart.
type received struct {
	kind    receivedKind
	slug    string // of an answer: the agent that gave it; "" for a person
	title   string // of an answer: what it answers
	text    string
	sources []string // citations of where the text comes from
	failed  bool     // of an answer: there is none
}

type receivedKind int

const (
	receivedWork receivedKind = iota // of a person, a schedule or a lead
	receivedQuestion
	receivedReport
	receivedAnswer   // to a task
	receivedDecision // to a question
)

var (
	answerLine = regexp.MustCompile(
		`^(Answer|No answer) to your (task|question) to (?:.*? \(([a-z0-9-]+)\)|the person you work for), ` +
			`("(?:[^"\\]|\\.)*")`)
	source = regexp.MustCompile(`\[[0-9A-Za-z-]{1,64}:\d{1,15}\]`)
)

// read takes a message apart by the line with which it begins.
func read(m message) (r received) {
	for _, p := range slices.Backward(m.Parts) { // what the user wrote comes after notes
		if p.Kind == model.PartText {
			r.text = p.Text
			break
		}
	}
	head, text, _ := strings.Cut(r.text, "\n\n")
	if match := answerLine.FindStringSubmatch(head); match != nil {
		r.kind, r.slug, r.failed = receivedAnswer, match[3], match[1] == "No answer"
		if match[2] == "question" {
			r.kind = receivedDecision
		}
		r.title, _ = strconv.Unquote(match[4])
		r.text, r.sources = text, source.FindAllString(head[len(match[0]):], -1)
		if r.failed {
			r.text = head
		}
		return r
	}
	for prefix, kind := range map[string]receivedKind{
		"Task from ": receivedWork, "Question from ": receivedQuestion, "Report from ": receivedReport,
	} {
		if strings.HasPrefix(head, prefix) {
			r.kind, r.text = kind, text
		}
	}
	return r
}

// subject is the first line of a piece of work, without citations: they would have to lead somewhere.
func (r *received) subject() string {
	text := source.ReplaceAllString(parley.TitleFrom(r.text), "")
	return parley.Clip(strings.TrimSuffix(strings.TrimSpace(text), "."), subjectBytes)
}

// turn is what a request shows of the running turn.
type turn struct {
	start    int        // of its first message in the request
	received []received // what it began with
	steps    []message  // its answers so far
	results  []part     // of the last step's calls
}

// turn returns the running turn: everything after the last answer that called no tool.
func (r *request) turn() (t turn) {
	for i, m := range r.Messages {
		if m.Role == model.RoleAssistant && len(m.calls()) == 0 {
			t.start = i + 1
		}
	}
	for _, m := range r.Messages[t.start:] {
		switch m.Role {
		case model.RoleUser:
			if len(t.steps) == 0 { // not what steers it
				t.received = append(t.received, read(m))
			}
		case model.RoleAssistant:
			t.steps, t.results = append(t.steps, m), nil
		case model.RoleTool:
			t.results = append(t.results, m.Parts...)
		}
	}
	return t
}

// began returns what the turn is about: answers that came with a report are more than the report.
func (t *turn) began() *received {
	for _, kind := range []receivedKind{receivedAnswer, receivedDecision} {
		for i := range t.received {
			if t.received[i].kind == kind {
				return &t.received[i]
			}
		}
	}
	return &t.received[len(t.received)-1] // a summary of what was said before comes first
}

// calls returns the tool calls of an answer.
func (m message) calls() (calls []part) {
	for _, p := range m.Parts {
		if p.Kind == model.PartToolCall {
			calls = append(calls, p)
		}
	}
	return calls
}

func (teammate) play(a *answer) {
	a.pace = teamPace
	now := a.request.turn()
	if len(now.received) == 0 {
		now.received = []received{{}}
	}
	if a.request.offers(toolDelegate) {
		lead{a, now}.play()
		return
	}
	member{a, now}.play()
}

// offers reports whether the request offers a tool.
func (r *request) offers(name string) bool {
	return slices.ContainsFunc(r.Tools, func(t tool) bool { return t.Name == name })
}

// inclined reports whether the system prompt gives the agent a habit.
func (r *request) inclined(habit string) bool {
	return strings.Contains(strings.ToLower(r.System), habit)
}

// ever reports whether the request shows a call of a tool.
func (r *request) ever(name string) bool {
	return slices.ContainsFunc(r.Messages, func(m message) bool {
		return slices.ContainsFunc(m.calls(), func(p part) bool { return p.Name == name })
	})
}

// use calls a tool; n numbers the calls of one answer.
func (a *answer) use(n int, name string, arguments any) bool {
	raw, err := parley.EncodeJSON(arguments)
	if err != nil {
		return a.fail(model.NewError(parley.ClassModel, false, "the simulator cannot write its arguments", err))
	}
	return a.call(fmt.Sprintf("call_%d_%d", len(a.request.Messages), n), name, string(raw), 0)
}

// end says a text and ends the turn.
func (a *answer) end(format string, values ...any) {
	if a.say(model.ChunkText, "Simulated: "+fmt.Sprintf(format, values...)) {
		a.finish(parley.FinishStop)
	}
}

// refusals joins the errors of the last calls.
func (t *turn) refusals() string {
	var all []string
	for _, p := range t.results {
		if p.Error {
			all = append(all, p.Name+": "+parley.Clip(p.Text, quotedBytes))
		}
	}
	return strings.Join(all, "; ")
}

// lead plays an agent that leads others.
type lead struct {
	*answer
	turn turn
}

func (l lead) play() {
	if len(l.turn.steps) > 0 {
		l.conclude()
		return
	}
	began := l.turn.began()
	switch began.kind {
	case receivedQuestion:
		l.end("begin with what changed since last time, and say what you are not sure of.")
	case receivedReport:
		l.end("noted.")
	case receivedDecision:
		if began.failed {
			l.end("I go on without an answer.")
			return
		}
		l.end("understood: %s", parley.Clip(began.text, quotedBytes))
	case receivedAnswer:
		l.collect()
	default:
		l.share(began.subject())
	}
}

// conclude ends a turn whose calls have their results.
func (l lead) conclude() {
	if refused := l.turn.refusals(); refused != "" {
		l.end("a tool refused my call. %s", refused)
		return
	}
	calls := l.turn.steps[len(l.turn.steps)-1].calls()
	if calls[0].Name == toolDelegate {
		l.end("I have handed the work to %s and wait for their answers.", listed(len(calls), "agent"))
		return
	}
	l.end("the briefing is in your inbox.")
}

// share hands a piece of work to everybody.
func (l lead) share(subject string) {
	if subject == "" {
		l.end("there is nothing to do.")
		return
	}
	if !l.say(model.ChunkText, "Simulated: everybody takes a part of this.") {
		return
	}
	for i, slug := range l.request.team() {
		if !l.use(i, toolDelegate, task{slug, subject +
			"\n\nLook at this from your side, and answer with what you find in three points."}) {
			return
		}
	}
	l.finish(parley.FinishToolCalls)
}

// task is the arguments with which a lead hands over work.
type task struct {
	Agent string `json:"agent"`
	Task  string `json:"task"`
}

// team returns the agents to which a lead may hand work.
func (r *request) team() []string {
	for _, t := range r.Tools {
		var schema struct {
			Properties struct {
				Agent struct {
					Enum []string `json:"enum"`
				} `json:"agent"`
			} `json:"properties"`
		}
		if t.Name == toolDelegate && json.Unmarshal(t.Parameters, &schema) == nil {
			return schema.Properties.Agent.Enum
		}
	}
	return nil
}

// shared is work that a lead has handed over in one answer: its tasks with what came back.
type shared struct {
	tasks   []task
	answers []*received // by task; nil for those that are still out
	fresh   bool        // one of the answers began this turn
}

// given returns the work that a lead has handed over, with what came back. Of work that a summary covers, it knows only
// that everybody in the team got it.
func (l lead) given() (all []*shared) {
	for i, m := range l.request.Messages {
		var s shared
		for _, p := range m.calls() {
			var t task
			if p.Name == toolDelegate && json.Unmarshal([]byte(p.Arguments), &t) == nil &&
				!l.request.refused(i, p.CallID) {
				s.tasks = append(s.tasks, t)
			}
		}
		if len(s.tasks) > 0 {
			s.answers = make([]*received, len(s.tasks))
			all = append(all, &s)
		}
		if m.Role != model.RoleUser {
			continue
		}
		came := read(m)
		if fresh := i >= l.turn.start; came.kind == receivedAnswer && !takes(all, &came, fresh) {
			all = append(all, l.covered(&came))
			takes(all, &came, fresh)
		}
	}
	return all
}

// covered returns the work that an answer belongs to, for an answer to what a summary covers.
func (l lead) covered(came *received) *shared {
	var s shared
	for _, slug := range l.request.team() {
		s.tasks = append(s.tasks, task{slug, came.title})
	}
	if !slices.Contains(s.tasks, task{came.slug, came.title}) { // it has left the team
		s.tasks = append(s.tasks, task{came.slug, came.title})
	}
	s.answers = make([]*received, len(s.tasks))
	return &s
}

// refused reports whether a call of a message has an error as its result.
func (r *request) refused(message int, callID string) bool {
	for _, m := range r.Messages[message+1:] {
		if m.Role != model.RoleTool {
			return false
		}
		for _, p := range m.Parts {
			if p.CallID == callID {
				return p.Error
			}
		}
	}
	return false
}

// takes puts an answer to the first task that it answers; false if there is none.
func takes(all []*shared, came *received, fresh bool) bool {
	for _, s := range all {
		for i, t := range s.tasks {
			handed := parley.Delegation{Text: t.Task}
			same := handed.Title() == came.title
			if s.answers[i] == nil && t.Agent == came.slug && same {
				s.answers[i], s.fresh = came, s.fresh || fresh
				return true
			}
		}
	}
	return false
}

// collect reads answers: when the last one to a piece of work has come, it briefs or answers.
func (l lead) collect() {
	var whole, part *shared
	for _, s := range l.given() {
		if !s.fresh {
			continue
		}
		if slices.Contains(s.answers, nil) {
			part = s
		} else {
			whole = s
		}
	}
	switch {
	case whole != nil && !l.request.offers(toolReport) && l.request.offers(toolBrief):
		l.brief(whole)
	case whole != nil:
		l.end("%s\n\n%s", whole.summary(), whole.quotes())
	default:
		l.end("%s", part.summary())
	}
}

// brief puts a piece of work into the inbox, and asks once what to do next.
func (l lead) brief(s *shared) {
	subject := parley.TitleFrom(s.tasks[0].Task)
	if !l.use(0, toolBrief, struct {
		Summary string `json:"summary"`
		Text    string `json:"text"`
		Title   string `json:"title"`
	}{
		s.summary(),
		"## " + subject + "\n\nThis is simulated: the findings are made up, and show how a team works.\n\n" +
			s.quotes(), subject,
	}) {
		return
	}
	if l.request.inclined(habitAsksUser) && !l.request.ever(toolAsk) && !l.use(1, toolAsk, question{
		"The first briefing is in your inbox. Which of its points shall we follow up?",
	}) {
		return
	}
	l.finish(parley.FinishToolCalls)
}

// question is the arguments with which an agent asks.
type question struct {
	Question string `json:"question"`
}

// summary counts the answers.
func (s *shared) summary() string {
	answered, failed := 0, 0
	for _, r := range s.answers {
		switch {
		case r == nil:
		case r.failed:
			failed++
		default:
			answered++
		}
	}
	text := fmt.Sprintf("%d of %s answered", answered, listed(len(s.tasks), "agent"))
	if failed > 0 {
		text += fmt.Sprintf(", %d could not", failed)
	}
	return text + "."
}

// quotes is a list of what each agent answered, with its source.
func (s *shared) quotes() string {
	var out strings.Builder
	for i, r := range s.answers {
		line := strings.Join(strings.Fields(strings.TrimPrefix(r.text, "Simulated: ")), " ")
		fmt.Fprintf(&out, "- **%s**: %s", s.tasks[i].Agent, parley.Clip(line, quotedBytes))
		for _, cited := range r.sources {
			out.WriteString(" " + cited)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// listed counts things in words.
func listed(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// member plays an agent that leads nobody, or that does not work in the background.
type member struct {
	*answer
	turn turn
}

func (m member) play() {
	r, began := m.request, m.turn.began()
	used := map[string]bool{}
	for _, step := range m.turn.steps {
		for _, p := range step.calls() {
			used[p.Name] = true
		}
	}
	background := r.offers(toolReport) || r.offers(toolBrief)
	works := began.kind == receivedWork && background
	switch {
	case used[toolAsk] && m.turn.refusals() == "":
		m.end("I have asked.")
	case used[toolBrief]:
		m.end("the briefing is in your inbox.")
	case works && r.offers(toolAsk) && r.offers(toolReport) && r.inclined(habitAsks) && !used[toolAsk]:
		m.does(toolAsk, question{"What matters most about " + strconv.Quote(began.subject()) + "?"})
	case works && r.offers(toolReport) && r.inclined(habitReports) && !used[toolReport]:
		m.does(toolReport, struct {
			Result string `json:"result"`
		}{"Simulated: I have begun with " + strconv.Quote(began.subject()) + "."})
	case works && r.offers(clockTool) && !used[clockTool]:
		m.does(clockTool, struct{}{})
	case works && !r.offers(toolReport):
		m.does(toolBrief, struct {
			Summary string `json:"summary"`
			Text    string `json:"text"`
			Title   string `json:"title"`
		}{"I work alone and have looked at it.", m.findings(), began.subject()})
	case background && (works || began.kind == receivedDecision):
		m.end("%s", m.findings())
	case background:
		m.end("noted.")
	default:
		m.end("my team and I work in the background. Give us a task, and find what comes of it in your inbox.")
	}
}

// does calls one tool and waits for its result.
func (m member) does(name string, arguments any) {
	if m.use(0, name, arguments) {
		m.finish(parley.FinishToolCalls)
	}
}

// findings makes three points up, by who the agent is and what it was asked.
func (m member) findings() string {
	began := m.turn.began()
	subject := began.subject()
	if began.kind == receivedDecision {
		subject = began.title
	}
	points := simulatedPoints()
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(m.request.System + "\n" + subject)) // never fails
	text := "three made-up points. "
	for i, rest := 0, int(hash.Sum32()>>1); i < pointsFound; i++ { //nolint:gosec // 31 bits
		at := rest % len(points)
		text += fmt.Sprintf("%d. %s ", i+1, points[at])
		points, rest = slices.Delete(points, at, at+1), rest/len(points)
	}
	if result, found := m.request.lastResult(); found && result.Name == clockTool && !result.Error {
		text += "Looked up at " + parley.Clip(strings.Join(strings.Fields(result.Text), " "), subjectBytes) + "."
	}
	return strings.TrimSpace(text)
}

// pointsFound is how many points each simulated agent finds.
const pointsFound = 3

// simulatedPoints returns what simulated agents find.
func simulatedPoints() []string {
	return []string{
		"Two sources agree on this.", "One figure is older than a year.", "Nothing speaks against it.",
		"The costs are higher than last time.", "It can wait until next week.", "Somebody should call them.",
		"The first offer was the better one.", "It depends on the weather.", "There is a simpler way.",
		"Half of it is done already.", "The deadline is on Friday.", "Nobody has asked for it yet.",
	}
}
