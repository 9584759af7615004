// Opens a trace that has no index yet: notes what the server answers until the picture is there.

export async function run(input, open) {
  const told = [], w = await open("progress", input.list);
  // the page is told of each answer only once that was noted
  await w.page.route("**/api/traces/" + input.id, async (r) => {
    const answer = await r.fetch(), { state, progress } = await answer.json();
    told.push({ state, progress });
    await r.fulfill({ response: answer });
  });
  await w.ready();
  await w.page.evaluate((id) => { location.hash = "#t=" + id; location.reload(); }, input.id);
  await w.page.waitForSelector(".plot");
  await w.ready();
  await w.shot("whole");
  return { told, view: await w.view(), errors: w.errors };
}
