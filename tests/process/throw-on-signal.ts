/** Imported by a process of ours before anything else: gives it an error that nobody expects, when the test says so. */
process.on('SIGUSR2', () => {
  throw new Error('the last words');
});
