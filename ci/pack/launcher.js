#!/usr/bin/env node
// Starts the binary that npm installed for this system, on the same standard
// input and output.
'use strict';

const { spawn } = require('node:child_process');
const { isatty } = require('node:tty');

const name = `@OWNER/NAME-${process.platform}-${process.arch}`;
const file = process.platform === 'win32' ? 'mcp-yieldshell.exe' : 'mcp-yieldshell';

let binary;
try {
  binary = require.resolve(`${name}/${file}`);
} catch {
  console.error(`mcp-yieldshell: ${name} is not installed. ` +
    'Either there is no release for this system, or npm was told to leave out optional dependencies.');
  process.exit(1);
}

// A terminal sends Ctrl-C to both; a second one would cut the server's grace.
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) {
  process.on(signal, () => {
    if (signal !== 'SIGINT' || !isatty(0)) child.kill(signal);
  });
}

const child = spawn(binary, process.argv.slice(2), { stdio: 'inherit', windowsHide: true });

child.on('error', (error) => {
  console.error(`mcp-yieldshell: ${error.message}`);
  process.exit(1);
});

// End as it ended.
child.on('exit', (code, signal) => {
  if (!signal) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
