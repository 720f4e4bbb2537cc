package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// accepts runs a proxy's own check of a configuration.
func accepts(t *testing.T, program, install string, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil { // servers are often outside an ordinary PATH
		path, err = exec.LookPath("/usr/sbin/" + program)
	}
	if err != nil {
		t.Fatalf("%s is needed to check its configuration: %s", program, install)
	}
	command := exec.Command(path, args...)
	// Names of containers cannot be resolved here.
	command.Env = append(os.Environ(), "PARLEY_1=127.0.0.1:7871", "PARLEY_2=127.0.0.1:7872", "PARLEY_3=127.0.0.1:7873")
	out, err := command.CombinedOutput()
	return string(out), err
}

// TestProxiesAccept: HAProxy and nginx read their files without a warning. That they stream and lose no request is
// tested in e2e, with real processes.
func TestProxiesAccept(t *testing.T) {
	t.Parallel()
	out, err := accepts(t, "haproxy", "apt-get install haproxy", "-c", "-f", filepath.Join(folder, "haproxy.cfg"))
	if err != nil || strings.Contains(out, "WARNING") {
		t.Errorf("haproxy: %v\n%s", err, out)
	}
	dir := t.TempDir()
	conf := "pid " + dir + "/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n" + read(
		t,
		"nginx.conf",
	) + "}\n"
	for _, name := range []string{"parley-1", "parley-2", "parley-3"} {
		conf = strings.ReplaceAll(conf, "server "+name+":", "server 127.0.0.1:")
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := accepts(
		t,
		"nginx",
		"apt-get install nginx-light",
		"-t",
		"-p",
		dir,
		"-c",
		file,
	); err != nil ||
		strings.Contains(out, "[warn]") {
		t.Errorf("nginx: %v\n%s", err, out)
	}
}
