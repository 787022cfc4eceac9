/**
 * Keeps node:test from following every promise, preloaded into each test file by scripts/test.ts. node:test follows the
 * asynchronous work of a test in order to name the test of an uncaught exception. With promises that multiplies the
 * cost of each `await`, and is a tenth of a whole run. Timers and sockets still lead to their test, and an exception
 * that leads to none fails the file.
 */
import asyncHooks from 'node:async_hooks';

const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => createHook({ trackPromises: false, ...callbacks });
