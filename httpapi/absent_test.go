package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"example.org/parley"
	"example.org/parley/engine"
	"example.org/parley/event"
)

// wholeness checks answers against the document, and that they leave out no
// property of their schemas.
type wholeness struct {
	*testing.T
	schemas shown
	seen    map[string]bool // names of the schemas that were met
	stored  bool            // what is checked may be older than some of its fields, which are then optional
}

func newWholeness(t *testing.T) *wholeness {
	t.Helper()
	schemas := describedRegistry()
	list := routes()
	for i := range list {
		for _, answer := range list[i].answers {
			schemas.response(answer)
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[engine.BlockCall](), reflect.TypeFor[Problem]()} {
		schemas.Schema(of, true, "") // of blocks and errors
	}
	return &wholeness{t, shown{schemas, schemas.Map()}, map[string]bool{}, false}
}

func (w *wholeness) check(about string, of reflect.Type, body []byte) {
	w.Helper()
	schema := w.schemas.Schema(of, true, "")
	v := value(w.T, body)
	var result huma.ValidateResult
	huma.Validate(w.schemas, schema, huma.NewPathBuffer(nil, 0), huma.ModeReadFromServer, v, &result)
	for _, err := range result.Errors {
		w.Errorf("%s: %v", about, err)
	}
	w.walk(about, schema, v)
}

func (w *wholeness) walk(at string, schema *huma.Schema, v any) {
	w.Helper()
	if schema == nil { // any JSON
		return
	}
	if forms := schema.AnyOf; len(forms) == 2 && forms[0].Ref != "" && forms[1].Type == "null" && v != nil {
		schema = forms[0]
	}
	content := schema.Ref == schemaPrefix+contentSchema // whose empty members are left out
	if schema.Ref != "" {
		if of := w.schemas.TypeFromRef(schema.Ref); of != nil {
			content = content || isContent(of)
		}
		w.seen[strings.TrimPrefix(schema.Ref, schemaPrefix)] = true
		schema = w.schemas.SchemaFromRef(schema.Ref)
	}
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			w.walk(fmt.Sprintf("%s[%d]", at, i), schema.Items, item)
		}
	case map[string]any:
		for name, property := range schema.Properties {
			inside, ok := v[name]
			if !ok && (content || w.stored && !slices.Contains(schema.Required, name)) {
				continue
			}
			if !ok {
				w.Errorf("%s leaves out %s", at, name)
				continue
			}
			if inside != nil {
				w.walk(at+"."+name, property, inside)
			}
		}
	}
}

// Absent is null: the answers of every route name all their fields.
func TestAnswersLeaveNothingOut(t *testing.T) {
	t.Parallel()
	s, w := startServer(t), newWholeness(t)
	answered := map[string]bool{}
	do := func(route string, of reflect.Type, status int, method, path, body string) []byte {
		t.Helper()
		got := s.do(method, path, body, "Authorization", "Bearer "+testToken)
		if got.status != status {
			t.Fatalf("%s: status %d: %s", route, got.status, got.body)
		}
		w.check(route, of, got.body)
		answered[route] = true
		return got.body
	}
	idOf := func(body []byte) string {
		t.Helper()
		var v struct{ ID string }
		if err := json.Unmarshal(body, &v); err != nil {
			t.Fatal(err)
		}
		return v.ID
	}
	agent, session, message := reflect.TypeFor[parley.Agent](), reflect.TypeFor[parley.Session](),
		reflect.TypeFor[parley.Message]()

	do("createAgent", agent, 201, "POST", "/v1/agents", `{"name":"bare"}`)
	lead := idOf(do("createAgent", agent, 201, "POST", "/v1/agents", `{"name":"leads"}`))
	do("createAgent", agent, 201, "POST", "/v1/agents", `{"name":"follows","lead_id":"`+lead+`"}`)
	do("listTeams", reflect.TypeFor[page[parley.TeamLead]](), 200, "GET", "/v1/teams", "")
	do("getTeam", reflect.TypeFor[parley.Team](), 200, "GET", "/v1/teams/leads", "")
	do("ensureForegroundSession", session, 201, "PUT", "/v1/agents/leads/foreground", "")
	do("ensureForegroundSession", session, 200, "PUT", "/v1/agents/leads/foreground", "")
	do("getBackgroundSession", session, 200, "GET", "/v1/agents/leads/background", "")
	do(
		"createAgent",
		agent,
		201,
		"POST",
		"/v1/agents",
		`{"name":"set","context_policy":{"kind":"recent","limit":3},"retry_policy":{"retries":0},`+
			`"limits":{"daily_cost":1.5},"tools":["current_time",{"name":"ask","parameters":{"type":"object"}}]}`,
	)
	do("updateAgent", agent, 200, "PATCH", "/v1/agents/bare", `{"context_policy":{"kind":"all"}}`)
	do("getAgent", agent, 200, "GET", "/v1/agents/bare", "")
	do("warmAgent", reflect.TypeFor[parley.Warmed](), 200, "POST", "/v1/agents/bare/warm", "")
	do("listAgentVersions", reflect.TypeFor[page[parley.Agent]](), 200, "GET", "/v1/agents/bare/versions", "")
	do("getAgentVersion", agent, 200, "GET", "/v1/agents/bare/versions/1", "")
	do("listAgents", reflect.TypeFor[page[parley.Agent]](), 200, "GET", "/v1/agents", "")

	feed := s.stream("GET", "/v1/events", "", "Authorization", "Bearer "+testToken)
	feed.until("resync")
	id := idOf(
		do(
			"createSession",
			session,
			201,
			"POST",
			"/v1/sessions",
			`{"agent_id":"set","model":"sim/tool","tools":["current_time"],"retry_policy":{},"limits":{"max_steps":5}}`,
		),
	)
	updated := feed.until("session.updated")
	w.check("feed", reflect.TypeFor[event.SessionUpdated](), updated[len(updated)-1].data.Data)
	at := "/v1/sessions/" + id
	do("getSession", session, 200, "GET", at, "")
	do("getSessionTree", reflect.TypeFor[parley.Tree](), 200, "GET", at+"/tree", "")
	do("getBudget", reflect.TypeFor[engine.SessionBudget](), 200, "GET", at+"/budget", "")
	do("updateSession", session, 200, "PATCH", at, `{"pinned":true}`)
	do("clearContext", session, 200, "POST", at+"/clear", "")
	do("ensureSession", session, 201, "PUT", "/v1/sessions/by-key", `{"key":"k","feature":"f"}`)
	do("getSessionByKey", session, 200, "GET", "/v1/sessions/by-key?key=k", "")
	do("listSessions", reflect.TypeFor[page[parley.Session]](), 200, "GET", "/v1/sessions", "")
	do("setClientSession", session, 200, "PUT", "/v1/clients/tab/session", `{"session_id":"`+id+`"}`)
	do("getClientSession", session, 200, "GET", "/v1/clients/tab/session", "")
	do("listSessionClients", reflect.TypeFor[page[parley.SessionClient]](), 200, "GET", at+"/clients", "")

	// A turn with a tool, one that fails and one that is cancelled.
	posted := idOf(do("postMessage", message, 201, "POST", at+"/messages", `{"content":{"text":"What time is it?"}}`))
	s.finished(id)
	do("postMessageAndWait", reflect.TypeFor[Answered](), 200, "POST", at+"/messages/wait?wait=1m",
		`{"content":{"text":"Hi"}}`)
	s.told(id, `{"content":{"text":"x"},"model":"sim/fail-auth-9"}`)
	failed := want[page[parley.Turn]](s, 200, "GET", at+"/turns?limit=1", "").Data[0].ID.String()
	do("retryTurn", reflect.TypeFor[parley.Turn](), 201, "POST", "/v1/turns/"+failed+"/retry", "")
	s.stream("GET", at+"/events", "").until("session.failed") // the first
	s.awaitEnd(id)
	looped := idOf(do("createSession", session, 201, "POST", "/v1/sessions", `{"model":"sim/lorem-2000-20"}`))
	for _, until := range []string{`{"text_matches":"never"}`, `{"schema":{"type":"object"}}`} {
		loop := idOf(
			do(
				"startLoop",
				reflect.TypeFor[parley.Loop](),
				201,
				"POST",
				"/v1/sessions/"+looped+"/loops",
				`{"prompt":"Again","until":`+until+`,"context":{"recent":2}}`,
			),
		)
		do("getLoop", reflect.TypeFor[parley.Loop](), 200, "GET", "/v1/loops/"+loop, "")
		do("stopLoop", reflect.TypeFor[parley.Loop](), 200, "POST", "/v1/loops/"+loop+"/stop", `{"now":true}`)
	}
	do("listLoops", reflect.TypeFor[page[parley.Loop]](), 200, "GET", "/v1/sessions/"+looped+"/loops", "")
	worker := idOf(do("createAgent", reflect.TypeFor[parley.Agent](), 201, "POST", "/v1/agents", `{"name":"Worker"}`))
	schedule := reflect.TypeFor[parley.Schedule]()
	for _, timing := range []string{
		`"cron":"0 9 * * 1","time_zone":"Europe/Berlin","jitter":"5m","name":"Weekly"`,
		`"every":"1h","enabled":false`,
		`"at":"2099-01-01T00:00:00Z"`,
	} {
		made := idOf(do("createSchedule", schedule, 201, "POST", "/v1/schedules",
			`{"agent_id":"`+worker+`","message":"Look around.",`+timing+`}`))
		do("getSchedule", schedule, 200, "GET", "/v1/schedules/"+made, "")
		do("updateSchedule", schedule, 200, "PATCH", "/v1/schedules/"+made, `{"overlap":"queue"}`)
		s.postedNow(made)
		do(
			"listScheduleRuns",
			reflect.TypeFor[page[parley.ScheduleRun]](),
			200,
			"GET",
			"/v1/schedules/"+made+"/runs",
			"",
		)
	}
	hook := reflect.TypeFor[parley.Webhook]()
	for _, more := range []string{``, `,"name":"Tickets","events":["tool.*"],"filter":{"tags":["a"],"agent_ids":["` +
		worker + `"]}`} {
		made := idOf(do("createWebhook", hook, 201, "POST", "/v1/webhooks", `{"url":"http://127.0.0.1:1/"`+more+`}`))
		do("getWebhook", hook, 200, "GET", "/v1/webhooks/"+made, "")
		do("updateWebhook", hook, 200, "PATCH", "/v1/webhooks/"+made, `{"events":["limit.*"],"filter":{}}`)
		do("rotateWebhookSecret", hook, 200, "POST", "/v1/webhooks/"+made+"/secret", `{"overlap_seconds":60}`)
		do("pingWebhook", reflect.TypeFor[engine.WebhookAnswer](), 200, "POST", "/v1/webhooks/"+made+"/ping", "")
		do("listWebhookDeliveries", reflect.TypeFor[page[parley.WebhookDelivery]](), 200, "GET",
			"/v1/webhooks/"+made+"/deliveries", "")
		delivery := s.deadDelivery(s.idOf(made), s.idOf(looped), 1)
		do("listWebhookDeliveries", reflect.TypeFor[page[parley.WebhookDelivery]](), 200, "GET",
			"/v1/webhooks/"+made+"/deliveries?status=dead", "")
		do("resendWebhookDelivery", reflect.TypeFor[parley.WebhookDelivery](), 200, "POST", delivery+"/resend", "")
		do("listWebhooks", reflect.TypeFor[page[parley.Webhook]](), 200, "GET", "/v1/webhooks", "")
	}
	cloud, servers := "/v1/tool-servers/cloud/authorization", reflect.TypeFor[page[parley.ToolServer]]()
	do("listToolServers", servers, 200, "GET", "/v1/tool-servers", "")
	do("authorizeToolServer", reflect.TypeFor[parley.ToolServerRequest](), 200, "POST", cloud,
		`{"redirect_uri":"http://127.0.0.1:1/"}`)
	do("completeToolServerAuthorization", reflect.TypeFor[parley.ToolServer](), 200, "PUT", cloud,
		`{"state":"s","code":"c"}`)
	do("listToolServers", servers, 200, "GET", "/v1/tool-servers", "")
	do("listToolServerResources", reflect.TypeFor[page[parley.ToolResource]](), 200, "GET",
		"/v1/tool-servers/cloud/resources", "")
	do("attachToolServerResource", reflect.TypeFor[parley.File](), 201, "POST", "/v1/tool-servers/cloud/files",
		`{"uri":"file:///b.md"}`)
	known := reflect.TypeFor[parley.KnowledgeItem]()
	for _, kind := range parley.KnowledgeKinds() {
		made := idOf(do("createKnowledgeItem", known, 201, "POST", "/v1/knowledge",
			`{"agent_id":"`+worker+`","kind":"`+string(kind)+`","text":"A `+string(kind)+`."}`))
		do("getKnowledgeItem", known, 200, "GET", "/v1/knowledge/"+made, "")
		do("updateKnowledgeItem", known, 200, "PATCH", "/v1/knowledge/"+made, `{"pinned":true}`)
	}
	do("listKnowledgeItems", reflect.TypeFor[page[parley.KnowledgeItem]](), 200, "GET",
		"/v1/knowledge?agent="+worker, "")
	artifact, version := reflect.TypeFor[parley.Artifact](), reflect.TypeFor[parley.ArtifactVersion]()
	for kind, change := range map[string]string{
		`"kind":"json","content":{"a":{"b":1}},"schema":{"type":"object"}`: `{` +
			`"patch":[{"op":"move","from":"/a/b","path":"/c"}]}`,
		`"kind":"text","content":"one two"`: `{"edits":[{"old":"one","new":"1"}]}`,
		`"kind":"file","content":"AP8="`:    `{"base_version":1,"content":"AA=="}`,
	} {
		made := "/v1/artifacts/" + idOf(do("createArtifact", artifact, 201, "POST", "/v1/artifacts",
			`{"name":"n","labels":["l"],`+kind+`}`))
		do("writeArtifactVersion", version, 201, "POST", made+"/versions", change)
		do("diffArtifact", reflect.TypeFor[engine.ArtifactDiff](), 200, "GET", made+"/diff", "")
		do("getArtifactLineage", reflect.TypeFor[engine.Lineage](), 200, "GET", made+"/lineage", "")
		do("previewRefresh", reflect.TypeFor[engine.Refresh](), 200, "GET", made+"/refresh", "")
		do("restoreArtifactVersion", version, 201, "POST", made+"/versions/1/restore", "")
		do("getArtifactVersion", version, 200, "GET", made+"/versions/1", "")
		do("listArtifactVersions", reflect.TypeFor[page[parley.ArtifactVersion]](), 200, "GET", made+"/versions", "")
		do("getArtifact", artifact, 200, "GET", made, "")
		do("updateArtifact", artifact, 200, "PATCH", made, `{"archived":true}`)
	}
	do("listArtifacts", reflect.TypeFor[page[parley.Artifact]](), 200, "GET", "/v1/artifacts?archived=any", "")
	transform, definition := reflect.TypeFor[parley.Transform](), reflect.TypeFor[parley.TransformDefinition]()
	ran := "/v1/transforms/" + idOf(do("runTransform", transform, 201, "POST", "/v1/transforms",
		`{"name":"n","instructions":"i","cite":true,"model":"sim/lorem-1000-100","outputs":[{"kind":"text"}]}`))
	do("getTransform", transform, 200, "GET", ran, "")
	do("cancelTransform", transform, 200, "POST", ran+"/cancel", "")
	do("retryTransform", transform, 201, "POST", ran+"/retry", "")
	do("listTransforms", reflect.TypeFor[page[parley.Transform]](), 200, "GET", "/v1/transforms", "")
	do("createTransformDefinition", definition, 201, "POST", "/v1/transforms/definitions",
		`{"name":"d","instructions":"i","outputs":[{"kind":"json","schema":{"type":"object"}}]}`)
	do("getTransformDefinition", definition, 200, "GET", "/v1/transforms/definitions/d", "")
	do("updateTransformDefinition", definition, 200, "PATCH", "/v1/transforms/definitions/d", `{"cite":true}`)
	do("listTransformDefinitionVersions", reflect.TypeFor[page[parley.TransformDefinition]](), 200, "GET",
		"/v1/transforms/definitions/d/versions", "")
	do("listTransformDefinitions", reflect.TypeFor[page[parley.TransformDefinition]](), 200, "GET",
		"/v1/transforms/definitions", "")
	run := reflect.TypeFor[parley.PipelineRun]()
	made := "/v1/pipeline-runs/" + idOf(do("startPipelineRun", run, 201, "POST", "/v1/pipeline-runs",
		`{"name":"n","nodes":[{"name":"a","instructions":"Write.","model":"sim/lorem-1000-100","outputs":`+
			`[{"kind":"text","title":"A"}]},{"name":"b","instructions":"Write.","inputs":[{"node":"a"}],"outputs":`+
			`[{"kind":"text","title":"B"}]}]}`))
	do("getPipelineRun", run, 200, "GET", made, "")
	do("cancelPipelineRun", run, 200, "POST", made+"/cancel", "")
	s.awaitRun(strings.TrimPrefix(made, "/v1/pipeline-runs/"))
	do("retryPipelineRun", run, 200, "POST", made+"/retry", "")
	do("listPipelineRuns", reflect.TypeFor[page[parley.PipelineRun]](), 200, "GET", "/v1/pipeline-runs", "")
	brief, _, summary := s.chain()
	s.writtenByHand(brief, 1, "Other words.")
	stale := "/v1/artifacts/" + summary.String() + "/refresh"
	do("previewRefresh", reflect.TypeFor[engine.Refresh](), 200, "GET", stale, "")
	do("refreshArtifact", run, 201, "POST", stale, `{}`)
	do("startExamplePipeline", run, 201, "POST", "/v1/pipeline-runs/example", "")
	do("listSchedules", reflect.TypeFor[page[parley.Schedule]](), 200, "GET", "/v1/schedules?agent="+worker, "")
	do("previewSchedule", reflect.TypeFor[engine.SchedulePreview](), 200, "POST", "/v1/schedules/preview",
		`{"every":"1h"}`)
	do("ensureExampleTeam", reflect.TypeFor[parley.Team](), 201, "POST", "/v1/teams/example", "")
	do("giveTask", message, 201, "POST", "/v1/agents/"+worker+"/tasks", `{"text":"Look around."}`)
	starved := s.starved()
	do("continueTurn", reflect.TypeFor[parley.Turn](), 201, "POST", "/v1/turns/"+starved+"/continue", "")
	s.stream("POST", at+"/messages?flush_ms=0", `{"content":{"text":"x"},"model":"sim/lorem-2000-20"}`).
		until("step.generating")
	behind := idOf(do("postMessage", message, 201, "POST", at+"/messages", `{"content":{"text":"behind"}}`))
	before := idOf(do("postMessage", message, 201, "POST", at+"/messages", `{"content":{"text":"before"}}`))
	do("moveMessage", message, 200, "POST", "/v1/messages/"+before+"/move", `{"before":"`+behind+`"}`)
	do("updateMessage", message, 200, "PATCH", "/v1/messages/"+before, `{"content":{"text":"before that"}}`)
	do("sendMessage", message, 200, "POST", "/v1/messages/"+behind+"/send", `{"how":"steer"}`)
	do("listMessages", reflect.TypeFor[page[parley.Message]](), 200, "GET", at+"/messages", "")
	do("cancelTurn", reflect.TypeFor[engine.CancelResult](), 200, "POST", at+"/cancel", `{"queued":true}`)
	do("getMessage", message, 200, "GET", "/v1/messages/"+posted, "")
	do("markMessage", message, 200, "PUT", "/v1/messages/"+posted+"/marks", `{"pinned":true}`)
	do("forkSession", session, 201, "POST", at+"/fork", `{"at":"`+posted+`"}`)
	do("editMessage", session, 201, "POST", "/v1/messages/"+posted+"/edit", `{"content":{"text":"And now?"}}`)
	do("regenerateMessage", session, 201, "POST", "/v1/messages/"+posted+"/regenerate", `{}`)
	do("listBranches", reflect.TypeFor[page[parley.Session]](), 200, "GET", "/v1/messages/"+posted+"/branches", "")
	rows := want[page[parley.Message]](s, 200, "GET", at+"/messages", "").Data
	do(
		"listVersions",
		reflect.TypeFor[page[parley.Version]](),
		200,
		"GET",
		"/v1/messages/"+rows[1].ID.String()+"/versions",
		"",
	)
	do("listMessages", reflect.TypeFor[page[parley.Message]](), 200, "GET", at+"/messages", "")
	view := func(name, route string, of reflect.Type) []byte {
		t.Helper()
		apart := do(route, of, 200, "GET", at+"/messages/"+name, "")
		if asked := s.do("GET", at+"/messages?view="+name, ""); !bytes.Equal(asked.body, apart) {
			t.Errorf("view=%s answers %s, its path %s", name, asked.body, apart)
		}
		return apart
	}
	transcript := view("transcript", "listTranscript", reflect.TypeFor[page[engine.Entry]]())
	view("chat", "listChat", reflect.TypeFor[page[engine.ChatMessage]]())
	view("ids", "listMessageIDs", reflect.TypeFor[page[engine.MessageID]]())
	do("exportSession", reflect.TypeFor[sessionExport](), 200, "GET", at+"/export", "")
	do("listTurns", reflect.TypeFor[page[parley.Turn]](), 200, "GET", at+"/turns", "")
	do("getTurn", reflect.TypeFor[parley.Turn](), 200, "GET", "/v1/turns/"+rows[0].TurnID.String(), "")
	do("listCalls", reflect.TypeFor[page[parley.Call]](), 200, "GET", at+"/calls", "")
	do("getCall", reflect.TypeFor[engine.CallDetail](), 200, "GET", "/v1/calls/"+s.lastCall(id).ID.String(), "")
	do(
		"previewMessage",
		reflect.TypeFor[engine.Preview](),
		200,
		"POST",
		at+"/preview",
		`{"content":{"text":"What next?"}}`,
	)
	do("getContext", reflect.TypeFor[engine.Preview](), 200, "GET", at+"/context", "")
	do(
		"replayCall",
		reflect.TypeFor[engine.ReplayResult](),
		201,
		"POST",
		"/v1/calls/"+s.lastCall(id).ID.String()+"/replay",
		`{"model":"sim/echo"}`,
	)
	do("diffCall", reflect.TypeFor[engine.CallDiff](), 200, "GET", "/v1/calls/"+s.lastCall(id).ID.String()+"/diff", "")
	w.blocks(transcript)
	w.events(s.stream("GET", at+"/events", ""))

	summed := idOf(
		do(
			"createSession",
			session,
			201,
			"POST",
			"/v1/sessions",
			`{"context_policy":{"kind":"summary"},"compaction":{"model":"sim/reason"}}`,
		),
	)
	s.told(summed, `{"content":{"text":"a long story"}}`)
	s.told(summed, `{"content":{"text":"and another one"}}`)
	compaction := reflect.TypeFor[parley.Compaction]()
	do("getCompaction", compaction, 200, "GET", "/v1/sessions/"+summed+"/compaction", "")
	do("compactSession", compaction, 202, "POST", "/v1/sessions/"+summed+"/compact", `{}`)
	written := s.compacted(summed)
	do("getCompaction", compaction, 200, "GET", "/v1/sessions/"+summed+"/compaction", "")
	do(
		"listCovered",
		reflect.TypeFor[page[parley.Message]](),
		200,
		"GET",
		"/v1/messages/"+written.MessageID.String()+"/covered",
		"",
	)
	do("reviseSummary", message, 201, "POST", "/v1/sessions/"+summed+"/summary",
		`{"message_id":"`+written.MessageID.String()+`","text":"They told stories."}`)
	do(
		"listMessages",
		reflect.TypeFor[page[engine.ChatMessage]](),
		200,
		"GET",
		"/v1/sessions/"+summed+"/messages?view=chat",
		"",
	)

	outside := want[parley.Session](s, 201, "POST", "/v1/sessions", `{}`).ID.String()
	streamed := idOf(
		do(
			"postMessage",
			message,
			201,
			"POST",
			"/v1/sessions/"+outside+"/messages",
			`{"role":"assistant","status":"streaming"}`,
		),
	)
	do(
		"appendMessage",
		reflect.TypeFor[parley.OutsideGrown](),
		200,
		"POST",
		"/v1/messages/"+streamed+"/append",
		`{"offset":0,"text":"x"}`,
	)
	do(
		"problem",
		reflect.TypeFor[Problem](),
		409,
		"POST",
		"/v1/messages/"+streamed+"/append",
		`{"offset":9,"text":"x"}`,
	)
	do(
		"settleMessage",
		reflect.TypeFor[engine.OutsideResult](),
		200,
		"POST",
		"/v1/messages/"+streamed+"/settle",
		`{"status":"completed"}`,
	)
	do("shareSession", reflect.TypeFor[parley.Share](), 201, "PUT", at+"/shares/"+outside, "")
	do("shareSession", reflect.TypeFor[parley.Share](), 200, "PUT", at+"/shares/"+outside, "")
	do("listShares", reflect.TypeFor[page[parley.Share]](), 200, "GET", at+"/shares", "")

	given := s.handedOver("Authorization", "Bearer "+testToken)
	atGiven, delegation := "/v1/delegations/"+given.ID.String(), reflect.TypeFor[parley.Delegation]()
	do("listDelegations", reflect.TypeFor[page[parley.Delegation]](), 200, "GET", "/v1/delegations?kind=task", "")
	do("getDelegation", reflect.TypeFor[engine.DelegationDetail](), 200, "GET", atGiven, "")
	do("cancelDelegation", delegation, 200, "POST", atGiven+"/cancel", "")
	do("problem", reflect.TypeFor[Problem](), 422, "GET", "/v1/delegations?kind=order", "")

	_, item := s.questioned("Asks", "Authorization", "Bearer "+testToken)
	atItem, inbox := "/v1/inbox/"+item.ID.String(), reflect.TypeFor[parley.InboxItem]()
	do("listInbox", reflect.TypeFor[page[parley.InboxItem]](), 200, "GET", "/v1/inbox?type=question", "")
	do("getInboxItem", inbox, 200, "GET", atItem, "")
	do("updateInboxItem", inbox, 200, "PATCH", atItem, `{"read":true}`)
	do("answerInboxItem", inbox, 200, "POST", atItem+"/answer", `{"text":"That one."}`)

	approval := s.asked(`{"feature":"f"`, "Authorization", "Bearer "+testToken)
	atApproval, approvals := "/v1/approvals/"+approval.ID.String(), reflect.TypeFor[page[parley.Approval]]()
	do("listApprovals", approvals, 200, "GET", "/v1/approvals", "")
	do("listSessionApprovals", approvals, 200, "GET", "/v1/sessions/"+approval.SessionID.String()+"/approvals", "")
	do("getApproval", reflect.TypeFor[parley.Approval](), 200, "GET", atApproval, "")
	do(
		"decideApproval",
		reflect.TypeFor[parley.Approval](),
		200,
		"POST",
		atApproval,
		`{"decision":"approve","scope":"session"}`,
	)
	do("problem", reflect.TypeFor[Problem](), 409, "POST", atApproval, `{"decision":"approve"}`)
	s.finished(approval.SessionID.String())
	do("getSession", session, 200, "GET", "/v1/sessions/"+approval.SessionID.String(), "")

	project := idOf(
		do(
			"chooseProject",
			reflect.TypeFor[parley.Project](),
			201,
			"POST",
			"/v1/projects",
			`{"path":"`+s.subdirectory("site")+`"}`,
		),
	)
	do("getProject", reflect.TypeFor[parley.Project](), 200, "GET", "/v1/projects/"+project, "")
	inProject := "/v1/projects/" + project + "/artifacts"
	exported := idOf(do("createArtifact", artifact, 201, "POST", inProject, `{"kind":"text","name":"n","content":"x"}`))
	do("exportArtifact", reflect.TypeFor[engine.ArtifactExport](), 200, "POST", "/v1/artifacts/"+exported+"/export",
		`{"path":"n"}`)
	do("importArtifact", artifact, 201, "POST", inProject+"/import", `{"path":"n"}`)
	do("updateProject", reflect.TypeFor[parley.Project](), 200, "PATCH", "/v1/projects/"+project, `{"name":"Site"}`)
	do("listProjects", reflect.TypeFor[page[parley.Project]](), 200, "GET", "/v1/projects", "")
	do("listDirectories", reflect.TypeFor[engine.Directories](), 200, "GET", "/v1/directories", "")
	do("listDirectories", reflect.TypeFor[engine.Directories](), 200, "GET", "/v1/directories?path="+s.root, "")
	do("search", reflect.TypeFor[engine.SearchResults](), 200, "GET", "/v1/search?q="+s.searchable(), "")
	do("getUsage", reflect.TypeFor[engine.UsageReport](), 200, "GET", "/v1/usage?group=session", "")
	do("getUsage", reflect.TypeFor[engine.UsageReport](), 200, "GET", "/v1/usage", "")
	do("getResponseCache", reflect.TypeFor[parley.ResponseCacheState](), 200, "GET", "/v1/cache", "")
	do("listAudit", reflect.TypeFor[page[parley.AuditEntry]](), 200, "GET", "/v1/audit", "")
	file := reflect.TypeFor[parley.File]()
	uploaded := idOf(do("uploadFile", file, 201, "POST", "/v1/files?name=a.json", `{"a":1}`))
	do("getFile", file, 200, "GET", "/v1/files/"+uploaded, "")
	do("listFiles", reflect.TypeFor[page[parley.File]](), 200, "GET", "/v1/files", "")
	do("listTools", reflect.TypeFor[page[engine.ToolInfo]](), 200, "GET", "/v1/tools", "")
	do("listProviders", reflect.TypeFor[providerPage](), 200, "GET", "/v1/providers", "")
	do("listModels", reflect.TypeFor[modelPage](), 200, "GET", "/v1/models", "")
	do("getWorkspace", reflect.TypeFor[parley.Workspace](), 200, "GET", "/v1/workspace", "")
	do(
		"updateWorkspace",
		reflect.TypeFor[parley.Workspace](),
		200,
		"PATCH",
		"/v1/workspace",
		`{"visibility":"workspace"}`,
	)
	do("getPrincipal", reflect.TypeFor[whoAmI](), 200, "GET", "/v1/principal", "")
	do(
		"archiveFeature",
		reflect.TypeFor[engine.FeatureArchived](),
		200,
		"POST",
		"/v1/sessions/archive",
		`{"feature":"f"}`,
	)
	do(
		"importSessions",
		reflect.TypeFor[engine.Imported](),
		200,
		"POST",
		"/v1/imports",
		importBody(t, "", olderChat, false),
	)
	do("getHealth", reflect.TypeFor[health](), 200, "GET", "/healthz", "")
	do("getReadiness", reflect.TypeFor[health](), 200, "GET", "/readyz", "")
	do("getAnchor", reflect.TypeFor[parley.Anchor](), 200, "GET", "/v1/audit/anchor", "")
	do("verify", reflect.TypeFor[parley.VerifyStep](), 200, "POST", "/v1/verify", "{}")
	do("signIn", reflect.TypeFor[parley.Principal](), 200, "POST", "/v1/sign-in", `{"key":"`+testToken+`"}`)
	do("listSignIns", reflect.TypeFor[page[parley.SignIn]](), 200, "GET", "/v1/sign-ins", "")
	do("createKey", reflect.TypeFor[engine.NewKey](), 201, "POST", "/v1/keys", `{"name":"ci"}`)
	do("listKeys", reflect.TypeFor[page[parley.Key]](), 200, "GET", "/v1/keys", "")
	do("problem", reflect.TypeFor[Problem](), 404, "GET", "/v1/agents/none", "")
	do("problem", reflect.TypeFor[Problem](), 422, "GET", "/v1/agents?limit=x", "")

	s.everythingIsAudited(answered)
	list := routes()
	for i := range list {
		for _, answer := range list[i].answers {
			name := list[i].name
			if list[i].waits {
				name = "postMessageAndWait" // they all answer with the same
			}
			if answer.goType != nil && !answered[name] {
				t.Errorf("no answer of %s was looked at", name)
			}
		}
	}
	for _, name := range []string{"Block", "Message", "ManifestRange", "Failure", "Policy", "RetryPolicy", "Limits",
		"ChatCall", "SettledMessage"} {
		if !w.seen[name] {
			t.Errorf("no answer held a %s", name)
		}
	}
}

// blocks checks what the document leaves open: the contents of a transcript's blocks.
func (w *wholeness) blocks(transcript []byte) {
	w.Helper()
	var entries page[engine.Entry]
	if err := json.Unmarshal(transcript, &entries); err != nil {
		w.Fatal(err)
	}
	met := map[engine.BlockType]bool{}
	for _, entry := range entries.Data {
		for _, block := range entry.Blocks {
			met[block.Type] = true
			switch block.Type {
			case engine.BlockToolCall:
				w.check("tool_call", reflect.TypeFor[engine.BlockCall](), block.Content)
			case engine.BlockError:
				w.check("error", reflect.TypeFor[parley.Failure](), block.Content)
			}
		}
	}
	if !met[engine.BlockToolCall] || !met[engine.BlockError] {
		w.Errorf("blocks of %v", met)
	}
}

// events checks what events carry, up to the first cancelled turn.
func (w *wholeness) events(stream *frames) {
	w.Helper()
	w.stored = true
	defer func() { w.stored = false }()
	for _, frame := range stream.until(string(parley.EventSessionCancelled)) {
		w.check(frame.event, reflect.TypeOf(event.New(parley.EventType(frame.event))).Elem(), frame.data.Data)
	}
}
