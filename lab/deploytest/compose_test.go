package deploytest

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/tandian-dev/tandian/internal/config"
)

// composed holds the tested fields of docker-compose.yml.
type composed struct {
	Services map[string]composeService
	Networks map[string]struct {
		Internal bool
		IPAM     struct {
			Config []struct {
				Subnet  string
				IPRange string `yaml:"ip_range"`
			}
		}
	}
	Volumes map[string]any
}

type composeService struct {
	Image       string
	Command     []string
	Environment map[string]string
	Volumes     []string
	Ports       []string
	Networks    yaml.Node
	ExtraHosts  []string       `yaml:"extra_hosts"`
	DependsOn   map[string]any `yaml:"depends_on"`
	MemLimit    string         `yaml:"mem_limit"`
	ReadOnly    bool           `yaml:"read_only"`
	StopGrace   string         `yaml:"stop_grace_period"`
	Restart     string
	Healthcheck struct{ Test []string }
}

// on returns the address of a service on a network, "" for any.
func (s composeService) on(network string) (address string, there bool) {
	var names []string
	if s.Networks.Decode(&names) == nil {
		return "", slices.Contains(names, network)
	}
	var addresses map[string]struct {
		IPv4 string `yaml:"ipv4_address"`
	}
	_ = s.Networks.Decode(&addresses)
	a, there := addresses[network]
	return a.IPv4, there
}

func readCompose(t *testing.T) (c composed) {
	t.Helper()
	readYAML(t, "docker-compose.yml", &c)
	if len(c.Services) < 10 {
		t.Fatalf("docker-compose.yml has %d services", len(c.Services))
	}
	return c
}

func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(File(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// exact matches an image with a whole version: not latest, and nothing that changes tomorrow.
var exact = regexp.MustCompile(`^[a-z0-9./-]+(/[a-z0-9_./-]+)?:v?\d+\.\d+(\.\d+)?(-[a-z]+)?$|^postgres:\d+\.\d+-[a-z]+$`)

func TestEveryComposeServiceIsBoundedAndMonitored(t *testing.T) {
	for name, s := range readCompose(t).Services {
		if ours := strings.HasPrefix(name, "server-"); ours {
			if s.Image != "tandian:${VERSION:-unreleased}" || !s.ReadOnly {
				t.Errorf("%s: image %q, read-only %t", name, s.Image, s.ReadOnly)
			}
		} else if !exact.MatchString(s.Image) || strings.Count(s.Image, ".") == 0 {
			t.Errorf("%s: %q is no exact version", name, s.Image)
		}
		if !regexp.MustCompile(`^\d+[mg]$`).MatchString(s.MemLimit) {
			t.Errorf("%s: its memory is limited to %q", name, s.MemLimit)
		}
		if len(s.Healthcheck.Test) < 2 || s.Healthcheck.Test[0] != "CMD" && s.Healthcheck.Test[0] != "CMD-SHELL" {
			t.Errorf("%s: its health is checked by %q", name, s.Healthcheck.Test)
		}
		if s.Restart != "unless-stopped" {
			t.Errorf("%s: restart %q", name, s.Restart)
		}
	}
}

// Only nginx and Grafana publish ports, by default on this machine alone. The network of the stores
// is internal.
func TestComposePublishesNginxAndGrafanaAlone(t *testing.T) {
	c := readCompose(t)
	for name, s := range c.Services {
		_, front := s.on("front")
		_, back := s.on("back")
		if !front && !back {
			t.Errorf("%s is on no network that is known here", name)
		}
		outside := name == "nginx" || name == "grafana"
		if (len(s.Ports) > 0) != outside {
			t.Errorf("%s publishes %q", name, s.Ports)
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s publishes %s everywhere", name, p)
			}
		}
		if front && !outside && !strings.HasPrefix(name, "server-") {
			t.Errorf("%s shares a network with nginx", name)
		}
		if back && name == "nginx" {
			t.Error("nginx shares a network with the stores")
		}
	}
	if !c.Networks["back"].Internal {
		t.Error("the network of the stores leads outside")
	}
}

// The server knows and accepts these settings.
func TestComposeSetsKnownSettings(t *testing.T) {
	c := readCompose(t)
	cfg := config.Default()
	known := map[string]bool{}
	cfg.Flags().VisitAll(func(f *pflag.Flag) { known[config.Variable(f.Name)] = true })
	if !known["DATABASE_URL"] || !known["TANDIAN_STOP_TIMEOUT"] {
		t.Fatalf("settings are not found: %v", known)
	}
	for _, name := range []string{"server-1", "server-2"} {
		s := c.Services[name]
		for variable := range s.Environment {
			if !known[variable] {
				t.Errorf("%s: the server does not know %s", name, variable)
			}
		}
		for _, variable := range []string{"DATABASE_URL", "REDIS_URL", "REDIS_CACHE_URL", "TANDIAN_ADDR", "TANDIAN_TRUSTED_PROXIES", "TANDIAN_MEDIA_URL"} {
			if s.Environment[variable] == "" {
				t.Errorf("%s has no %s", name, variable)
			}
		}
		stop, err := time.ParseDuration(s.Environment["TANDIAN_STOP_TIMEOUT"])
		grace, err2 := time.ParseDuration(s.StopGrace)
		if err != nil || err2 != nil || grace < stop+15*time.Second {
			t.Errorf("%s is killed after %q, requests have %q: %v %v", name, s.StopGrace, stop, err, err2)
		}
		if s.Healthcheck.Test[1] != "/tandian" || s.Healthcheck.Test[2] != "probe" {
			t.Errorf("%s: %q", name, s.Healthcheck.Test)
		}
		for service := range s.DependsOn {
			if _, ok := c.Services[service]; !ok {
				t.Errorf("%s waits for %s, which there is not", name, service)
			}
		}
	}
	// The URLs name existing services.
	for _, variable := range []string{"DATABASE_URL", "REDIS_URL", "REDIS_CACHE_URL"} {
		m := regexp.MustCompile(`@([a-z-]+):\d+`).FindStringSubmatch(c.Services["server-1"].Environment[variable])
		if m == nil {
			t.Fatalf("%s names no host", variable)
		}
		if _, ok := c.Services[m[1]]; !ok {
			t.Errorf("%s leads to %s, which there is not", variable, m[1])
		}
	}
	if !slices.Contains(c.Services["postgres"].Command, "wal_level=logical") {
		t.Error("PostgreSQL has no log that the servers can read")
	}
}

// nginx reaches the servers at fixed addresses, and is the only proxy that they trust.
func TestComposeGivesNginxAndServersTheirAddresses(t *testing.T) {
	c := readCompose(t)
	nginx, _ := c.Services["nginx"].on("front")
	list, err := os.ReadFile(File("deploy/tandian-servers.conf"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^server ([a-z0-9-]+):8080 `).FindAllStringSubmatch(string(list), -1)
	if len(named) != 2 {
		t.Fatalf("tandian-servers.conf has %d servers", len(named))
	}
	config := c.Networks["front"].IPAM.Config
	if len(config) != 1 {
		t.Fatalf("the network in front: %+v", config)
	}
	subnet, given := netip.MustParsePrefix(config[0].Subnet), netip.MustParsePrefix(config[0].IPRange)
	fixed := func(address string) {
		t.Helper()
		if a, err := netip.ParseAddr(address); err != nil || !subnet.Contains(a) || given.Contains(a) {
			t.Errorf("%q is no address of its own: %v", address, err)
		}
	}
	fixed(nginx)
	for _, m := range named {
		s, ok := c.Services[m[1]]
		address, _ := s.on("front")
		fixed(address)
		if !ok || !slices.Contains(c.Services["nginx"].ExtraHosts, m[1]+":"+address) {
			t.Errorf("nginx does not find %s at %s: %q", m[1], address, c.Services["nginx"].ExtraHosts)
		}
		if s.Environment["TANDIAN_TRUSTED_PROXIES"] != nginx {
			t.Errorf("%s believes %q, nginx is %s", m[1], s.Environment["TANDIAN_TRUSTED_PROXIES"], nginx)
		}
	}
	conf, err := os.ReadFile(File("deploy/nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if port := "listen 8080 "; !strings.Contains(string(conf), port) || c.Services["nginx"].Ports[0] != "127.0.0.1:8080:8080" {
		t.Errorf("nginx listens elsewhere than at %q", c.Services["nginx"].Ports)
	}
}

// Mounts are files of the repository, or volumes.
func TestComposeMountsExistingFiles(t *testing.T) {
	c := readCompose(t)
	used := map[string]bool{}
	for name, s := range c.Services {
		for _, v := range s.Volumes {
			from, to, _ := strings.Cut(v, ":")
			if !strings.HasPrefix(from, "./") {
				if _, ok := c.Volumes[from]; !ok {
					t.Errorf("%s: volume %s not found", name, from)
				}
				used[from] = true
				continue
			}
			if from == "./deploy/redis/users.local.acl" {
				continue // scripts/compose-env.sh writes it
			}
			if _, err := os.Stat(File(from)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !strings.HasSuffix(to, ":ro") {
				t.Errorf("%s may write %s", name, from)
			}
		}
	}
	for v := range c.Volumes {
		if !used[v] {
			t.Errorf("volume %s is unused", v)
		}
	}
}

// Each target of Prometheus is a service of the same file.
func TestPrometheusScrapesComposeServices(t *testing.T) {
	c := readCompose(t)
	var p struct {
		Scrape []struct {
			Job    string                       `yaml:"job_name"`
			Static []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	readYAML(t, "deploy/prometheus/prometheus.yml", &p)
	asked := map[string]bool{}
	for _, job := range p.Scrape {
		for _, static := range job.Static {
			for _, target := range static.Targets {
				host, _, _ := strings.Cut(target, ":")
				asked[host] = true
				if host == "localhost" || host == "127.0.0.1" {
					continue // itself
				}
				s, ok := c.Services[host]
				if _, beside := s.on("back"); !ok || !beside {
					t.Errorf("%s: no service %s next to Prometheus", job.Job, host)
				}
			}
		}
	}
	for name := range c.Services {
		if (strings.HasPrefix(name, "server-") || strings.Contains(name, "exporter")) && !asked[name] {
			t.Errorf("Prometheus does not ask %s", name)
		}
	}
}

// The limit of each Redis is three quarters of its container's.
func TestComposeRedisUsesThreeQuartersOfItsContainer(t *testing.T) {
	c := readCompose(t)
	for role, megabytes := range map[string]int{"state": 768, "cache": 512} {
		if got := c.Services["redis-"+role].MemLimit; got != fmt.Sprintf("%dm", megabytes) {
			t.Errorf("%s may have %s", role, got)
		}
		text, err := os.ReadFile(filepath.Join(File("deploy/redis"), role+".conf"))
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`(?mi)^maxmemory\s+%dmb\s*$`, megabytes*3/4)
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("%s.conf has no line %s", role, want)
		}
	}
}

func TestImageIsStaticSmallAndNonRoot(t *testing.T) {
	text, err := os.ReadFile(File("Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(File("go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	goVersion := regexp.MustCompile(`(?m)^go (\S+)$`).FindSubmatch(mod)
	stages := regexp.MustCompile(`(?m)^FROM .*$`).FindAllString(string(text), -1)
	if len(stages) != 2 || goVersion == nil || stages[0] != "FROM golang:"+string(goVersion[1])+"-bookworm AS build" || !strings.Contains(stages[1], "/static-") {
		t.Errorf("stages: %q", stages)
	}
	_, last, _ := strings.Cut(string(text), stages[len(stages)-1])
	for what, in := range map[string]struct{ part, want string }{
		"static":  {string(text), `CGO_ENABLED=0 go build -trimpath`},
		"version": {string(text), `-X github\.com/tandian-dev/tandian/internal/app\.releaseVersion=\$\{VERSION\} -X github\.com/tandian-dev/tandian/internal/app\.releaseCommit=\$\{COMMIT\}`},
		"args":    {string(text), `(?m)^ARG VERSION=\S+\nARG COMMIT=\S+$`},
		"user":    {last, `(?m)^USER 65532:65532$`},
		"health":  {last, `(?m)^HEALTHCHECK .*CMD \["/tandian", "probe"\]$`},
		"folder":  {string(text), `(?m)^ +mkdir -m 0700 /data$`},
		"program": {last, `(?m)^ENTRYPOINT \["/tandian"\]$`},
	} {
		if !regexp.MustCompile(in.want).MatchString(in.part) {
			t.Errorf("%s: the Dockerfile has no %s", what, in.want)
		}
	}
	if strings.Contains(last, "\nRUN ") {
		t.Error("the last stage runs something: it has no shell")
	}
}
