const pause = document.getElementById("pause");
if (pause) {
  pause.checked = location.hash === "#paused";
  pause.addEventListener("change", () => { location.hash = pause.checked ? "paused" : ""; });
  setInterval(() => { if (!pause.checked) location.reload(); }, 2000);
}
