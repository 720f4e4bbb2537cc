package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// scriptedAgent turns this binary into an agent of the Agent Client Protocol: its value is
// the directory where it remembers its sessions. Its prompts are scripts: JSON lists of
// acts.
const scriptedAgent = "ACP_SCRIPTED_AGENT"

// act is one thing that the scripted agent does.
type act struct {
	Say    string     `json:"say,omitempty"`
	Think  string     `json:"think,omitempty"`
	Plan   []string   `json:"plan,omitempty"`
	Call   *agentCall `json:"call,omitempty"`
	Read   string     `json:"read,omitempty"` // by the client
	Write  string     `json:"write,omitempty"`
	Open   string     `json:"open,omitempty"` // by itself, as what follows
	List   string     `json:"list,omitempty"`
	Put    string     `json:"put,omitempty"`    // a file
	Link   []string   `json:"link,omitempty"`   // a symbolic link: to what, where
	Blocks bool       `json:"blocks,omitempty"` // tell what the prompt holds
	Usage  *agentUse  `json:"usage,omitempty"`
	Env    string     `json:"env,omitempty"`
	Recall bool       `json:"recall,omitempty"` // repeat what was said in the session
	Hang   bool       `json:"hang,omitempty"`
	Die    bool       `json:"die,omitempty"`
	Raw    string     `json:"raw,omitempty"`  // a line, unchanged
	Long   int        `json:"long,omitempty"` // a line of this many bytes
	Grow   int        `json:"grow,omitempty"`
	Stop   string     `json:"stop,omitempty"`
	Child  bool       `json:"child,omitempty"` // start a process that leaves its group and its session
	Error  string     `json:"error,omitempty"`
}

// agentCall is a tool call of the scripted agent.
type agentCall struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Title  string `json:"title"`
	Ask    bool   `json:"ask"`
	Late   bool   `json:"late"` // asks after it has begun
	Fail   bool   `json:"fail"`
	Result string `json:"result"`
	Path   string `json:"path"` // a diff
	Hang   bool   `json:"hang"`
}

// agentUse is what the scripted agent tells of its tokens and costs.
type agentUse struct {
	Used int     `json:"used"`
	Cost float64 `json:"cost"`
}

// agentSide is the scripted agent.
type agentSide struct {
	home string

	mu      sync.Mutex // guards writes and the fields below
	next    int
	waits   map[string]chan json.RawMessage
	cancels chan struct{}
	session string
	prompt  json.RawMessage
}

func runScriptedAgent(home string) {
	a := &agentSide{home: home, waits: map[string]chan json.RawMessage{}, cancels: make(chan struct{}, 1)}
	fmt.Fprintln(os.Stderr, "the scripted agent begins, with", os.Getenv("SCRIPTED_SECRET"))
	reader := bufio.NewReader(os.Stdin)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return
		}
		var f struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(line, &f); err != nil {
			panic(err)
		}
		switch f.Method {
		case "":
			a.mu.Lock()
			waits := a.waits[string(f.ID)]
			a.mu.Unlock()
			if f.Error != nil {
				f.Result = f.Error
			}
			waits <- f.Result
		case "session/cancel":
			a.cancels <- struct{}{}
		default:
			go a.asked(f.ID, f.Method, f.Params)
		}
	}
}

func (a *agentSide) send(message map[string]any) {
	message["jsonrpc"] = "2.0"
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	a.line(string(line))
}

func (a *agentSide) line(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = os.Stdout.WriteString(line + "\n")
}

func (a *agentSide) request(method string, params map[string]any) json.RawMessage {
	a.mu.Lock()
	a.next++
	id := strconv.Itoa(1000 + a.next)
	waits := make(chan json.RawMessage, 1)
	a.waits[id] = waits
	a.mu.Unlock()
	params["sessionId"] = a.session
	a.send(map[string]any{"id": json.RawMessage(id), "method": method, "params": params})
	return <-waits
}

func (a *agentSide) update(update map[string]any) {
	a.send(map[string]any{"method": "session/update", "params": map[string]any{
		"sessionId": a.session, "update": update,
	}})
}

func (a *agentSide) chunk(kind, text string) {
	a.update(map[string]any{"sessionUpdate": kind, "content": map[string]any{"type": "text", "text": text}})
}

func (a *agentSide) memory() string { return filepath.Join(a.home, a.session) }

func (a *agentSide) asked(id json.RawMessage, method string, params json.RawMessage) {
	answer := func(result map[string]any) { a.send(map[string]any{"id": id, "result": result}) }
	var given struct {
		ID     string `json:"sessionId"`
		Prompt []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	}
	_ = json.Unmarshal(params, &given) // other requests have other parameters
	switch method {
	case "initialize":
		answer(map[string]any{"protocolVersion": 1, "agentCapabilities": map[string]any{
			"loadSession": !slices.Contains(os.Args, "forgets"),
			"promptCapabilities": map[string]any{
				"image": !slices.Contains(os.Args, "plain"), "embeddedContext": !slices.Contains(os.Args, "plain"),
			},
		}})
	case "session/new":
		a.session = "own-" + strconv.Itoa(os.Getpid())
		answer(map[string]any{"sessionId": a.session})
	case "session/load":
		a.session = given.ID
		told, err := os.ReadFile(a.memory())
		if err != nil {
			a.send(map[string]any{"id": id, "error": map[string]any{"code": -32000, "message": "no such session"}})
			return
		}
		a.chunk("agent_message_chunk", "replayed: "+string(told))
		answer(map[string]any{})
	case "session/prompt":
		var of struct {
			Prompt json.RawMessage `json:"prompt"`
		}
		if err := json.Unmarshal(params, &of); err != nil {
			panic(err)
		}
		a.prompt = of.Prompt
		var text strings.Builder
		for _, part := range given.Prompt {
			text.WriteString(part.Text + "\n")
		}
		a.prompted(id, strings.TrimSpace(text.String()))
	}
}

// prompted plays a script.
func (a *agentSide) prompted(id json.RawMessage, text string) {
	told, _ := os.ReadFile(a.memory()) // none yet
	if err := os.WriteFile(a.memory(), []byte(string(told)+text+"\n"), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	var acts []act
	if at := strings.LastIndex(text, "\n["); at >= 0 {
		text = text[at+1:]
	}
	if err := json.Unmarshal([]byte(text), &acts); err != nil {
		acts = []act{{Say: "You said: " + text}}
	}
	stop := "end_turn"
	for i := range acts {
		if acts[i].Error != "" {
			a.send(map[string]any{"id": id, "error": map[string]any{"code": -32000, "message": acts[i].Error}})
			return
		}
		if acts[i].Stop != "" {
			stop = acts[i].Stop
		}
		if !a.act(&acts[i], string(told)) {
			stop = "cancelled"
			break
		}
	}
	a.send(map[string]any{"id": id, "result": map[string]any{"stopReason": stop}})
}

// act does one thing; false when it was cancelled.
func (a *agentSide) act(one *act, told string) bool {
	const says = "agent_message_chunk"
	switch {
	case one.Say != "":
		a.chunk(says, one.Say)
	case one.Think != "":
		a.chunk("agent_thought_chunk", one.Think)
	case one.Plan != nil:
		var entries []map[string]any
		for _, entry := range one.Plan {
			entries = append(entries, map[string]any{"content": entry, "priority": "low", "status": "pending"})
		}
		a.update(map[string]any{"sessionUpdate": "plan", "entries": entries})
	case one.Call != nil:
		return a.call(one.Call)
	case one.Read != "":
		a.chunk(says, string(a.request("fs/read_text_file", map[string]any{"path": one.Read})))
	case one.Write != "":
		a.chunk(says, string(a.request("fs/write_text_file", map[string]any{"path": one.Write, "content": "written"})))
	case one.Open != "":
		read, err := os.ReadFile(one.Open)
		a.chunk(says, fmt.Sprintf("%d bytes, %t", len(read), err == nil))
	case one.List != "":
		entries, err := os.ReadDir(one.List)
		a.chunk(says, fmt.Sprintf("%d entries, %t", len(entries), err == nil))
	case one.Put != "":
		a.chunk(says, fmt.Sprintf("put: %t", os.WriteFile(one.Put, []byte("put by the agent"), 0o600) == nil))
	case one.Link != nil:
		a.chunk(says, fmt.Sprintf("linked: %t", os.Symlink(one.Link[0], one.Link[1]) == nil))
	case one.Blocks:
		a.chunk(says, string(a.prompt))
	case one.Usage != nil:
		a.update(map[string]any{"sessionUpdate": "usage_update", "used": one.Usage.Used, "size": 200000,
			"cost": map[string]any{"amount": one.Usage.Cost, "currency": "USD"}})
	case one.Env != "":
		a.chunk(says, one.Env+"="+os.Getenv(one.Env)+";")
	case one.Recall:
		a.chunk(says, "told: "+told)
	case one.Child:
		child := exec.Command("sh", "-c", "sleep 600; : "+a.home)
		child.Stdout, child.SysProcAttr = os.Stdout, &syscall.SysProcAttr{Setsid: true}
		if err := child.Start(); err != nil {
			panic(err)
		}
	case one.Raw != "":
		a.line(one.Raw)
	case one.Long > 0:
		a.line(strings.Repeat("x", one.Long))
	case one.Grow > 0:
		for range one.Grow {
			a.chunk(says, strings.Repeat("x", 1<<20))
		}
	case one.Die:
		os.Exit(3)
	case one.Hang:
		select {
		case <-a.cancels:
			return false
		case <-time.After(turnDeadline):
		}
	}
	return true
}

// call makes a tool call; false when it was cancelled.
func (a *agentSide) call(c *agentCall) bool {
	told := map[string]any{
		"sessionUpdate": "tool_call", "toolCallId": c.ID, "title": c.Title, "kind": c.Kind, "status": "pending",
		"rawInput": map[string]any{"for": c.ID},
	}
	if c.Late {
		told["status"] = "in_progress"
	}
	a.update(told)
	if c.Ask || c.Late {
		answer := a.request("session/request_permission", map[string]any{
			"toolCall": map[string]any{"toolCallId": c.ID},
			"options": []map[string]any{
				{"optionId": "yes", "name": "Yes", "kind": "allow_once"},
				{"optionId": "no", "name": "No", "kind": "reject_once"},
			},
		})
		var got struct {
			Outcome struct {
				Outcome  string `json:"outcome"`
				OptionID string `json:"optionId"`
			} `json:"outcome"`
		}
		if err := json.Unmarshal(answer, &got); err != nil || got.Outcome.Outcome == "cancelled" {
			return false
		}
		if got.Outcome.OptionID != "yes" {
			a.update(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": c.ID, "status": "failed"})
			a.chunk("agent_message_chunk", c.ID+" was refused. ")
			return true
		}
	}
	a.update(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": c.ID, "status": "in_progress"})
	if c.Hang {
		<-a.cancels
		return false
	}
	status := "completed"
	if c.Fail {
		status = "failed"
	}
	content := []map[string]any{{"type": "content", "content": map[string]any{"type": "text", "text": c.Result}}}
	if c.Path != "" {
		content = append(content, map[string]any{"type": "diff", "path": c.Path, "oldText": nil, "newText": c.Result})
	}
	a.update(map[string]any{
		"sessionUpdate": "tool_call_update", "toolCallId": c.ID, "status": status, "content": content,
	})
	return true
}
