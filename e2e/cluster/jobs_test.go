package cluster

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// teamModel is the model of the agents in teams: the provider answers it by the orders in its messages.
const teamModel = "team"

// job is the text of a message that tells an agent of a team what to do. Everything that is asked is answered with
// "answer N".
type job struct {
	N      int    `json:"n"`               // distinguishes orders
	Tasks  []job  `json:"tasks,omitempty"` // to hand to subordinates
	To     string `json:"to,omitempty"`    // slug of the subordinate
	Ask    bool   `json:"ask,omitempty"`   // ask the lead first
	Note   bool   `json:"note,omitempty"`  // report to the lead on the way
	Final  bool   `json:"final,omitempty"` // answer by a final report
	Brief  bool   `json:"brief,omitempty"` // brief the owner
	PaceMS int    `json:"pace_ms,omitempty"`
}

func (o job) String() string {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err) // integers and strings
	}
	return string(raw)
}

func (o job) answer() string { return fmt.Sprintf("answer %d", o.N) }

// sends returns the calls by which a job sends something.
func (o job) sends() (calls []functionCall) {
	add := func(name string, arguments any) {
		raw, err := json.Marshal(arguments)
		if err != nil {
			panic(err) // strings
		}
		calls = append(calls, functionCall{name, string(raw)})
	}
	for _, task := range o.Tasks {
		add("delegate_to_agent", map[string]string{"agent": task.To, "task": task.String()})
	}
	if o.Ask {
		add("request_input", map[string]string{"question": job{N: o.N}.String()})
	}
	if o.Note {
		add("report_to_lead", map[string]string{"result": job{N: o.N}.String()})
	}
	if o.Brief {
		add("create_inbox_item", map[string]string{
			"title": fmt.Sprint("briefing ", o.N), "summary": "what was done", "text": job{N: o.N}.String(),
		})
	}
	if o.Final {
		add("report_to_lead", map[string]any{"result": o.answer(), "final": true})
	}
	return calls
}

// arrival is how a message came to an agent of a team.
type arrival string

// The arrivals, by the beginning of the message.
const (
	arrivesAsTask     arrival = "Task from "
	arrivesAsQuestion arrival = "Question from "
	arrivesAsReport   arrival = "Report from "
	arrivesAsAnswer   arrival = "Answer to your question "
	arrivesUnanswered arrival = "No answer to your question "
	arrivesDone       arrival = "Answer to your task "
	arrivesUndone     arrival = "No answer to your task "
	arrivesByHand     arrival = "{"
)

var (
	answerNumber = regexp.MustCompile(`^answer (\d+)$`)
	titleNumber  = regexp.MustCompile(`"\{\\"n\\":(\d+)`)
)

// arrived reads a message to an agent of a team. An answer's job has only its number.
func arrived(text string) (as arrival, o job, problem string) {
	for _, one := range []arrival{
		arrivesAsTask, arrivesAsQuestion, arrivesAsReport, arrivesAsAnswer, arrivesUnanswered, arrivesDone,
		arrivesUndone, arrivesByHand,
	} {
		if strings.HasPrefix(text, string(one)) {
			as = one
		}
	}
	_, rest, _ := strings.Cut(text, "\n\n")
	number := func(expression *regexp.Regexp, in string) {
		found := expression.FindStringSubmatch(in)
		if found == nil {
			problem = fmt.Sprintf("a message has no number: %q", text)
			return
		}
		o.N, _ = strconv.Atoi(found[1])
	}
	switch as {
	case arrivesByHand:
		rest = text
		fallthrough
	case arrivesAsTask, arrivesAsQuestion, arrivesAsReport:
		if answerNumber.MatchString(rest) { // a final report on work that has ended arrives as any other
			number(answerNumber, rest)
		} else if err := json.Unmarshal([]byte(rest), &o); err != nil {
			problem = fmt.Sprintf("a message has no job: %v: %q", err, text)
		}
	case arrivesAsAnswer, arrivesDone:
		number(answerNumber, rest)
	case arrivesUnanswered, arrivesUndone:
		number(titleNumber, text)
	default:
		problem = fmt.Sprintf("a message came in no known way: %q", text)
	}
	return as, o, problem
}

// turnText is the text with which a turn ends that a message began.
func turnText(as arrival, o job) string {
	switch {
	case as == arrivesAsReport || as == arrivesDone || as == arrivesUndone:
		return fmt.Sprintf("read %d", o.N)
	case as == arrivesByHand:
		return fmt.Sprintf("planned %d", o.N)
	case as == arrivesAsTask && o.Ask:
		return fmt.Sprintf("asked %d", o.N)
	}
	return o.answer()
}

// outlined tells what a request holds, for what a trial reports.
func outlined(messages []chatMessage) string {
	var out strings.Builder
	for i, m := range messages {
		fmt.Fprintf(&out, "\n    %d %s, %d calls: %.300q", i, m.Role, len(m.Calls), m.text())
	}
	return out.String()
}

// obey finds the next step of the job to which a request belongs. The agents see only the running turn.
func obey(messages []chatMessage) (said reply, problem string) {
	var as arrival
	var o job
	step, open := 1, map[string]bool{}
	for _, m := range messages {
		switch m.Role {
		case "user":
			here, its, problem := arrived(m.text())
			switch {
			case problem != "":
				return said, problem
			case step > 1:
				return said, fmt.Sprintf("turn %q: %q came after its first step", turnText(as, o), m.text())
			case as == "":
				as, o = here, its
			case here != arrivesAsReport && here != arrivesDone && here != arrivesUndone &&
				here != arrivesAsAnswer && here != arrivesUnanswered:
				return said, fmt.Sprintf("turn %q: %q is neither an answer nor a report", turnText(as, o), m.text())
			}
		case "assistant":
			step++
			for _, call := range m.Calls {
				open[call.ID] = true
			}
		case "tool":
			delete(open, m.CallID)
		}
	}
	if as == "" || len(open) > 0 {
		return said, fmt.Sprintf("a request of %d messages has no job, or %d open calls", len(messages), len(open))
	}
	said = reply{name: fmt.Sprintf("t%d_%d", o.N, step), pace: time.Duration(o.PaceMS) * time.Millisecond}
	if as == arrivesAsTask || as == arrivesByHand {
		said.calls = o.sends()
	}
	switch {
	case step == 1 && len(said.calls) > 0:
		said.words = []string{"one ", "moment"}
	case step > 2 || step == 2 && len(said.calls) == 0:
		return said, fmt.Sprintf("turn %q was asked for step %d, with %s", turnText(as, o), step, outlined(messages))
	default:
		said.calls, said.words = nil, strings.SplitAfter(turnText(as, o), " ")
	}
	return said, ""
}
