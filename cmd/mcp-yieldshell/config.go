package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/yieldshell/mcp-yieldshell/buffer"
	"github.com/yieldshell/mcp-yieldshell/mcp/policy"
)

type Config struct {
	Dirs           policy.Dirs
	MaxOutputBytes int
	MaxBufferBytes int
	MaxProcesses   int
	DefaultYield   time.Duration
	MaxYield       time.Duration
	DefaultTimeout time.Duration
	Retention      time.Duration
	MaxRetained    int
	Commands       policy.Commands
	Redact         *policy.Expression
	Secrets        []buffer.Secret
	Blocked        policy.Blocklist
	LogLevel       hclog.Level
	LogJSON        bool
	Warnings       []string
}

func LoadConfig(getenv func(string) (string, bool), environ []string) (Config, error) {
	get := func(n string) string { v, _ := getenv(n); return v }
	num := func(n string, def, min int) int {
		v, err := strconv.Atoi(get(n))
		if err != nil || v < min {
			return def
		}
		return v
	}
	ms := func(n string, def, min int) time.Duration { return time.Duration(num(n, def, min)) * time.Millisecond }
	c := Config{
		MaxOutputBytes: num("YIELDSHELL_MAX_OUTPUT_BYTES", 20000, 1),
		MaxBufferBytes: num("YIELDSHELL_MAX_BUFFER_BYTES", 262144, 1),
		MaxProcesses:   num("YIELDSHELL_MAX_PROCESSES", 50, 1),
		DefaultYield:   ms("YIELDSHELL_DEFAULT_YIELD_MS", 30000, 0),
		MaxYield:       ms("YIELDSHELL_MAX_YIELD_MS", 300000, 0),
		DefaultTimeout: ms("YIELDSHELL_DEFAULT_TIMEOUT_MS", 3600000, 0),
		Retention:      ms("YIELDSHELL_PROCESS_RETENTION_MS", 3600000, 0),
		MaxRetained:    num("YIELDSHELL_MAX_RETAINED_PROCESSES", 100, 0),
		LogLevel:       hclog.Warn,
	}
	c.Dirs.Default = get("YIELDSHELL_DEFAULT_CWD")
	var err error
	if v := get("YIELDSHELL_ALLOWED_CWDS"); v != "" {
		if c.Dirs.Roots, err = policy.ParseRoots(v); err != nil {
			return c, fmt.Errorf("YIELDSHELL_ALLOWED_CWDS: %w", err)
		}
	}
	if c.Commands, err = policy.NewCommands(get("YIELDSHELL_DENY_COMMAND_REGEX"), get("YIELDSHELL_ALLOW_COMMAND_REGEX")); err != nil {
		return c, err
	}
	if c.Blocked, err = policy.ParseBlocklist(get("MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS")); err != nil {
		return c, fmt.Errorf("MCP_YIELDSHELL_BLOCKED_SIDE_EFFECTS: %w", err)
	}
	if v := get("YIELDSHELL_REDACT_ENV_REGEX"); v != "" {
		if c.Redact, err = policy.CompileExpression(v); err != nil {
			return c, fmt.Errorf("YIELDSHELL_REDACT_ENV_REGEX: %w", err)
		}
		for n, v := range policy.EnvVariables(environ) {
			if ok, _ := c.Redact.Search(n); ok {
				c.Secrets = append(c.Secrets, buffer.Secret{Name: n, Value: v})
			}
		}
	}
	return c, nil
}
