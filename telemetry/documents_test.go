package telemetry

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"example.org/parley/internal/metric"
)

// described is the registry's description of a metric.
type described struct {
	labels []string
	kind   string // counter, gauge or histogram
}

// registered returns the metrics of a process, by name.
func registered(t *testing.T) map[string]described {
	t.Helper()
	told, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]described{}
	for _, collector := range append(told.metrics.all(), told.gauges) {
		for _, desc := range collector.Describe() {
			if counts := strings.HasSuffix(desc.Name, "_total"); counts != (desc.Kind == metric.KindCounter) {
				t.Errorf("%s is a %s: counters' names, and only these, end in _total", desc.Name, desc.Kind)
			}
			found[desc.Name] = described{labels: desc.Labels, kind: string(desc.Kind)}
		}
	}
	if len(found) < 40 {
		t.Fatalf("only %d metrics were found", len(found))
	}
	return found
}

var tableRow = regexp.MustCompile("(?m)^\\| `(parley_\\w+)` \\| (\\w+) \\|([^|]*)\\| [^|]+ \\|$")

// The table in docs/observability.md lists every metric with its type and labels, and only metrics that exist.
func TestThePageListsEveryMetric(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics := registered(t)
	listed := map[string]bool{}
	for _, row := range tableRow.FindAllStringSubmatch(string(page), -1) {
		name := row[1]
		metric, exists := metrics[name]
		switch {
		case listed[name]:
			t.Errorf("%s is in the table twice", name)
		case !exists:
			t.Errorf("the table has %s, which does not exist", name)
		case row[2] != metric.kind:
			t.Errorf("%s is a %s, not a %s", name, metric.kind, row[2])
		}
		var labels []string
		for label := range strings.SplitSeq(row[3], ",") {
			if label = strings.Trim(label, " `"); label != "" {
				labels = append(labels, label)
			}
		}
		if !slices.Equal(labels, metric.labels) {
			t.Errorf("%s has the labels %v, not %v", name, metric.labels, labels)
		}
		listed[name] = true
	}
	for name := range metrics {
		if !listed[name] {
			t.Errorf("the table lacks %s", name)
		}
	}
}

var (
	metricName  = regexp.MustCompile(`\b(?:parley|go|process)_[a-z0-9_]+`)
	selector    = regexp.MustCompile(`\b(parley_[a-z0-9_]+)(?:\{([^}]*)\})?`)
	grouping    = regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
	labelOfTerm = regexp.MustCompile(`^\s*(\w+)\s*(?:=|!=|=~|!~)`)
)

// targetLabels are added by Prometheus and by histograms.
var targetLabels = []string{"job", "instance", "le"}

// check reports names in an expression that do not exist.
func check(t *testing.T, where, expression string, metrics map[string]described) {
	t.Helper()
	known := slices.Clone(targetLabels)
	for _, term := range selector.FindAllStringSubmatch(expression, -1) {
		metric, ok := metrics[term[1]]
		if !ok {
			base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(term[1], "")
			if metric, ok = metrics[base]; !ok || metric.kind != "histogram" {
				t.Errorf("%s: there is no %s", where, term[1])
				continue
			}
		} else if metric.kind == "histogram" {
			t.Errorf("%s: %s is a histogram: ask for its _bucket, _sum or _count", where, term[1])
		}
		known = append(known, metric.labels...)
		for matcher := range strings.SplitSeq(term[2], ",") {
			label := labelOfTerm.FindStringSubmatch(matcher)
			if label != nil && !slices.Contains(targetLabels, label[1]) && !slices.Contains(metric.labels, label[1]) {
				t.Errorf("%s: %s has no label %s", where, term[1], label[1])
			}
		}
	}
	for _, group := range grouping.FindAllStringSubmatch(expression, -1) {
		for label := range strings.SplitSeq(group[1], ",") {
			if label = strings.TrimSpace(label); !slices.Contains(known, label) {
				t.Errorf("%s: nothing in it has a label %s", where, label)
			}
		}
	}
}

func TestTheDashboardUsesExistingMetrics(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../deploy/grafana/parley.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Type, Title string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	metrics := registered(t)
	shown := map[string]bool{}
	var rows []string
	for _, panel := range dashboard.Panels {
		if panel.Type == "row" {
			rows = append(rows, panel.Title)
			continue
		}
		if len(panel.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			check(t, panel.Title, target.Expr, metrics)
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				shown[strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_count")] = true
			}
		}
	}
	for _, want := range []string{"Traffic", "Turns", "Models", "Waiting and limits", "Queue", "Streams", "Database"} {
		if !slices.Contains(rows, want) {
			t.Errorf("there is no row %s: %v", want, rows)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(metrics)) {
		if !shown[name] && !slices.Contains([]string{"parley_build_info", "parley_sweeps_total"}, name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}

// This test checks that names in alerts exist; Prometheus' own tool checks when they fire.
func TestTheAlertsFireWhenTheyShould(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Labels      map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	metrics := registered(t)
	tests, err := os.ReadFile("../deploy/prometheus/alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range file.Groups[0].Rules {
		check(t, rule.Alert, rule.Expr, metrics)
		if !strings.Contains(string(page), "`"+rule.Alert+"`") {
			t.Errorf("docs/observability.md does not say what to do about %s", rule.Alert)
		}
		if !strings.Contains(string(tests), `alertname="`+rule.Alert+`"`) {
			t.Errorf("alerts_test.yml does not make %s fire", rule.Alert)
		}
		if severity := rule.Labels["severity"]; severity != "critical" && severity != "warning" {
			t.Errorf("%s has the severity %q", rule.Alert, severity)
		}
	}
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatal("promtool is not installed: it comes with Prometheus (Debian: apt-get install prometheus)")
	}
	for _, arguments := range [][]string{{"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"}} {
		command := exec.CommandContext(t.Context(), tool, arguments...)
		command.Dir = "../deploy/prometheus"
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", arguments, err, out)
		}
	}
}

// inManifests matches a metric in the deployment files, which also name database roles.
var inManifests = regexp.MustCompile(
	`\bparley_(?:queue|worker|turn|call|watchers|ready|draining|http|notify|pool|writer)[a-z_]*`,
)

func TestDeploymentsAskForMetricsThatExist(t *testing.T) {
	t.Parallel()
	metrics := registered(t)
	found := 0
	err := filepath.WalkDir("../deploy", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, name := range inManifests.FindAllString(string(raw), -1) {
			found++
			check(t, path, name, metrics)
		}
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("%d metrics in the files of deploy/, %v", found, err)
	}
}
