package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.org/parley"
)

// commandLine gives commands to a server in a directory of its own.
type commandLine struct {
	*testing.T

	dir string
}

// commands starts a server, which the test ends.
func commands(t *testing.T) *commandLine {
	t.Helper()
	dir := t.TempDir()
	srv, c := opened(t, dir, nil, &lockedLog{})
	t.Cleanup(func() {
		c.Close()
		if err := srv.close(); err != nil {
			t.Error(err)
		}
	})
	return &commandLine{t, dir}
}

func (c *commandLine) ask(args ...string) (out, complaint string, code int) {
	var said, complained bytes.Buffer
	code = run(c.Context(), append([]string{"--data", c.dir}, args...),
		terminal{in: strings.NewReader(""), out: &said, exact: &said, err: &complained})
	return said.String(), complained.String(), code
}

func (c *commandLine) say(args ...string) string {
	c.Helper()
	out, complaint, code := c.ask(args...)
	if code != 0 {
		c.Fatalf("parley %s: %s%s", strings.Join(args, " "), out, complaint)
	}
	return out
}

// told runs a command and reads what it prints as JSON.
func (c *commandLine) told(into any, args ...string) {
	c.Helper()
	if out := c.say(append(args, "--json")...); json.Unmarshal([]byte(out), into) != nil {
		c.Fatalf("parley %s: %s", strings.Join(args, " "), out)
	}
}

// refused runs a command that fails, and expects what it says.
func (c *commandLine) refused(says string, args ...string) {
	c.Helper()
	out, complaint, code := c.ask(args...)
	if code == 0 || !strings.Contains(out+complaint, says) {
		c.Errorf("parley %s: %d, %s%s", strings.Join(args, " "), code, out, complaint)
	}
}

func (c *commandLine) put(name, text string) string {
	c.Helper()
	name = filepath.Join(c.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		c.Fatal(err)
	}
	return name
}

// TestTransformsOnTheCommandLine: a transform is run to its end, by itself and by a definition, and is detached,
// cancelled and run again.
func TestTransformsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	c := commands(t)
	var plan parley.Artifact
	c.told(&plan, "artifacts", "create", c.put("plan.json", `{"chapters":["Rain","Sun"]}`))
	var made parley.Transform
	c.told(&made, "transforms", "run", "Sum up the plan.", "--model", "sim/echo",
		"--input", plan.ID.String()+"@1#/chapters/1", "--title", "Summary")
	if made.Status != parley.TransformCompleted || made.Name != "Sum up the plan." ||
		made.Inputs[0].Pointer != "/chapters/1" || made.Outputs[0].Title != "Summary" || made.Outputs[0].Version != 1 {
		t.Fatalf("ran %+v", made)
	}
	summary := made.Outputs[0].ArtifactID.String()
	if got := c.say("artifacts", "cat", summary); !strings.Contains(got, `"Sun"`) || strings.Contains(got, "Rain") {
		t.Errorf("the summary is %q", got)
	}
	for _, say := range []string{c.say("transforms", "show", made.ID.String()), c.say("transforms", "list")} {
		if !strings.Contains(say, "completed") || !strings.Contains(say, summary+"@1") {
			t.Errorf("shown: %s", say)
		}
	}

	if got := c.say("transforms", "list", "--kind", "edit"); !strings.Contains(got, plan.ID.String()+"@1") ||
		!strings.Contains(got, "Create") || strings.Contains(got, summary) {
		t.Errorf("the edits: %s", got)
	}
	if got := c.say("transforms", "list", "--kind", "generation"); strings.Contains(got, plan.ID.String()+"@1") ||
		!strings.Contains(got, "generation") {
		t.Errorf("the generations: %s", got)
	}

	if got := c.say("transforms", "define", "Digest", "Sum up in one word.", "--model", "sim/echo", "--kind",
		"text"); !strings.Contains(got, "digest") {
		t.Errorf("defined: %s", got)
	}
	if got := c.say("transforms", "definition", "digest"); !strings.Contains(got, "\nSum up in one word.\n") {
		t.Errorf("the definition: %s", got)
	}
	c.told(&made, "transforms", "run", "Briefly.", "--definition", "digest", "--title", "Brief")
	if made.Outputs[0].Title != "Brief" || made.Outputs[0].Kind != parley.ArtifactText || made.DefinitionVersion != 1 {
		t.Errorf("by the definition: %+v", made)
	}
	if got := c.say("transforms", "run", "--definition", "digest", "--output", summary); !strings.Contains(got,
		summary+"@2") {
		t.Errorf("on the summary: %s", got)
	}
	c.say("transforms", "archive", "digest")
	c.refused("archived", "transforms", "run", "--definition", "digest")

	c.told(&made, "transforms", "run", "Write.", "--model", "sim/lorem-10000-100", "--detach")
	if made.Status.Finished() {
		t.Errorf("detached: %+v", made)
	}
	if got := c.say("transforms", "cancel", made.ID.String()); !strings.Contains(got, "cancelled") ||
		strings.Contains(got, made.Outputs[0].ArtifactID.String()) {
		t.Errorf("cancelled: %s", got)
	}
	var again parley.Transform
	c.told(&again, "transforms", "retry", made.ID.String())
	if again.RetryOfID != made.ID {
		t.Errorf("again: %+v", again)
	}
	c.say("transforms", "cancel", again.ID.String())

	c.refused("refused the credentials", "transforms", "run", "Write.", "--model", "sim/fail-auth-1")
	c.refused("say what to write", "transforms", "run")
	c.refused("number of a version", "transforms", "run", "Write.", "--input", plan.ID.String()+"@one")
	c.refused("there is nothing at", "transforms", "run", "Write.", "--input", plan.ID.String()+"#/nowhere")
	c.refused("", "transforms", "show", plan.ID.String())
}

// TestPipelinesOnTheCommandLine: a run is followed to its end, is detached, cancelled and resumed, and a file that is
// not a pipeline is refused.
func TestPipelinesOnTheCommandLine(t *testing.T) {
	t.Parallel()
	c := commands(t)
	var brief parley.Artifact
	c.told(&brief, "artifacts", "create", c.put("brief.md", "About frost."))
	book := func(model string) string {
		return c.put("book.json", `{"name":"A book","documents":[],"nodes":[
			{"name":"outline","model":"sim/echo","instructions":"Outline.","inputs":[{"document":"brief"}],
			 "outputs":[{"kind":"text","title":"Outline"}]},
			{"name":"text","model":"`+model+`","instructions":"Write.","inputs":[{"node":"outline"}],
			 "outputs":[{"kind":"markdown","title":"Text"}]}]}`)
	}
	out, told, code := c.ask("pipelines", "run", book("sim/echo"), "--document", "brief="+brief.ID.String()+"@1")
	if code != 0 || !strings.Contains(out, "A book: completed") || strings.Count(out, "completed") != 3 ||
		!strings.Contains(told, "[text: completed, 1 of 1]") {
		t.Fatalf("run: %d\n%s\n%s", code, out, told)
	}
	var run parley.PipelineRun
	slow := book("sim/lorem-10000-100")
	c.told(&run, "pipelines", "run", slow, "--document", "brief="+brief.ID.String(), "--detach")
	if got := c.say("pipelines", "cancel", run.ID.String()); !strings.Contains(got, "A book: cancelled") {
		t.Errorf("cancelled: %s", got)
	}
	if got := c.say("pipelines", "retry", run.ID.String(), "--detach"); !strings.Contains(got, "A book: ") {
		t.Errorf("resumed: %s", got)
	}
	c.say("pipelines", "cancel", run.ID.String())
	out, _, code = c.ask("pipelines", "watch", run.ID.String())
	if code == 0 || !strings.Contains(out, "A book: cancelled") {
		t.Errorf("watched: %d, %s", code, out)
	}
	if got := c.say("pipelines", "list"); strings.Count(got, "A book") != 2 {
		t.Errorf("listed: %s", got)
	}
	if got := c.say("pipelines", "show", run.ID.String()); !strings.Contains(got, "outline") {
		t.Errorf("shown: %s", got)
	}
	out, _, code = c.ask("pipelines", "run", book("sim/fail-auth-1"), "--document", "brief="+brief.ID.String())
	if code == 0 || !strings.Contains(out, "A book: failed") {
		t.Errorf("a run that fails: %d, %s", code, out)
	}
	c.refused("NAME=ARTIFACT", "pipelines", "run", slow, "--document", brief.ID.String())
	c.refused("is not a pipeline in JSON", "pipelines", "run", c.put("list.json", "[]"))
	c.refused("no such file", "pipelines", "run", filepath.Join(t.TempDir(), "none.json"))
}
