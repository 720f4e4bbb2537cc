// Chooses dark or light before the first paint, so that nothing flashes.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem('parley.theme');
  } catch (_) {
    // storage is off: follow the system
  }
  var dark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.classList.toggle('dark', dark);
})();
